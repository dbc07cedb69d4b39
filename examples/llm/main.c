/* etllm - serve a compiled language model: the worked example of linking libetrt. */
#include "examples/llm/options.h"
#include "runtime/cli/cli.h"

static int run_generate(void *o) {
    return generate(o) ? 0 : 1;
}
static int run_score(void *o) {
    return score(o) ? 0 : 1;
}
static int run_compare(void *o) {
    return compare(o) ? 0 : 1;
}
static int run_tokenize(void *o) {
    return tokenize(o) ? 0 : 1;
}
static int run_detokenize(void *o) {
    return detokenize(o) ? 0 : 1;
}

/* Rows of the next table, as masks. */
enum { GENERATE = 1, SCORE = 2, COMPARE = 4, TOKENIZE = 8, DETOKENIZE = 16 };
static const cli_command commands[] = {
    {"generate", "continue the prompts, all in one batch; greedy unless a temperature is given",
     run_generate},
    {"score",
     "the logits after every token: input_ids [B, T] -> logits [B, T, V]; or sequences of "
     "different "
     "lengths, tokens.0, tokens.1, ... -> logits.0, logits.1, ...",
     run_score},
    {"compare",
     "fail when the relative error is above the tolerance, or the arg-max differs where the "
     "reference's best two logits are more than the gap apart",
     run_compare},
    {"tokenize", "the token ids of each prompt, a line each", run_tokenize},
    {"detokenize", "the text of each list of token ids, and a newline", run_detokenize},
    {0},
};

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"kernel", 0, CLI_INPUT, "K.hsaco", TO(kernel), "the compiled model", .need = GENERATE | SCORE},
    {"model", 0, CLI_FOLDER, "DIR", TO(model),
     "a Hugging Face checkpoint: safetensors, tokenizer.json, generation_config.json",
     .need = GENERATE | SCORE | TOKENIZE | DETOKENIZE},
    {"device", 0, CLI_TEXT, "SPEC", TO(device),
     "auto (default), hsa, cuda, cuda:1, emu, or emu:gfx942:cus=16:xcds=2 and the like",
     .may = GENERATE | SCORE},
    {"prompt", 'p', CLI_LIST, "PROMPT", TO(prompts), "a text to begin with; may be repeated",
     .need = GENERATE | TOKENIZE},
    {"ids", 0, CLI_LIST, "IDS", TO(id_lists), "token ids with spaces between; may be repeated",
     .need = DETOKENIZE},
    {"bare", 0, CLI_FLAG, NULL, TO(bare), "nothing is put around the text, as a bos token",
     .may = TOKENIZE},
    {"no-specials", 0, CLI_FLAG, NULL, TO(no_specials),
     "names of special tokens are text; special tokens give none", .may = TOKENIZE | DETOKENIZE},
    {"raw", 0, CLI_FLAG, NULL, TO(raw),
     "bytes as they are: a text need not be UTF-8, and what comes out may not be",
     .may = TOKENIZE | DETOKENIZE},
    {NULL, 'n', CLI_INT, "COUNT", TO(count), "most tokens to add (96)", .hi = INT32_MAX,
     .may = GENERATE},
    {"temperature", 0, CLI_REAL, "T", TO(temperature), "choose at random", .hi = 1000000000,
     .may = GENERATE},
    {"top-k", 0, CLI_INT, "K", TO(top_k), "among the K likeliest", .hi = INT32_MAX,
     .may = GENERATE},
    {"seed", 0, CLI_INT, "S", TO(seed), "of what is random", .hi = INT64_MAX, .may = GENERATE},
    {"tokens", 0, CLI_INPUT, "X.safetensors", TO(tokens), "the sequences", .need = SCORE},
    {"ref", 0, CLI_INPUT, "X.safetensors", TO(ref), "the logits that are right", .need = COMPARE},
    {"out", 0, CLI_OUTPUT, "Y.safetensors", TO(out), "where the logits go, or are",
     .need = SCORE | COMPARE, .reads = COMPARE},
    {"chunk", 0, CLI_INT, "C", TO(chunk), "tokens of a sequence per launch (as many as fit)",
     .lo = 1, .hi = INT32_MAX, .may = SCORE},
    {"batch", 0, CLI_INT, "B", TO(batch), "sequences together (as many as fit)", .lo = 1,
     .hi = INT32_MAX, .may = SCORE},
    {"tolerance", 0, CLI_REAL, "E", TO(tolerance), "the relative error there may be (0.01)",
     .hi = 1000000000, .may = COMPARE},
    {"gap", 0, CLI_REAL, "G", TO(gap), "nearer than that, rounding decides (0.1)", .hi = 1000000000,
     .may = COMPARE},
    {0},
};

static const cli_tool tool = {
    .name = "etllm",
    .summary = "serve a compiled language model",
    .usage = "generate --kernel K.hsaco --model DIR -p PROMPT [-p PROMPT]... [options]\n"
             "score --kernel K.hsaco --model DIR --tokens X.safetensors --out Y.safetensors "
             "[options]\n"
             "compare --ref X.safetensors --out Y.safetensors [options]\n"
             "tokenize --model DIR -p PROMPT [-p PROMPT]... [options]\n"
             "detokenize --model DIR --ids IDS [--ids IDS]... [options]",
    .about = "Runs a decoder that etimport wrote and etcc compiled.",
    .options = options,
    .commands = commands,
    .notes = "A file may be '-', standard input or output.",
};

int main(int argc, char **argv) {
    struct options o = {.device = "auto", .count = 96, .tolerance = 1e-2, .gap = 0.1};
    return cli_main(&tool, argc, argv, &o);
}
