/* The formats, a row for each. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

static const struct tool_format formats[] = {
    {.name = "hermes",
     .signs = {"<tool_call>\\n{\"name\"", "<tool_call>\\n{\\\"name\\\""},
     .opens = {"<tool_call>"},
     .close = "</tool_call>",
     .arguments = "arguments",
     .told = true,
     .read = hermes_read},
    {.name = "llama",
     .signs = {"<|python_tag|>", "\"parameters\": dictionary of argument name"},
     .opens = {"<|python_tag|>"},
     .bare = true,
     .specials = true,
     .arguments = "parameters",
     .told = true,
     .read = llama_read},
    {.name = "mistral",
     .signs = {"[TOOL_CALLS]"},
     .opens = {"[TOOL_CALLS]"},
     .specials = true,
     .arguments = "arguments",
     .read = mistral_read},
    {.name = "deepseek",
     .signs = {"<｜tool▁calls▁begin｜>"},
     .opens = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>"},
     .specials = true,
     .read = deepseek_read},
    {.name = "harmony",
     .signs = {"<|channel|>commentary", "<|start|>assistant<|channel|>"},
     .specials = true},
    {.name = "qwen3-coder",
     .signs = {"<function=", "</parameter>"},
     .opens = {"<tool_call>", "<function="},
     .read = qwen_coder_read},
    {.name = "glm",
     .signs = {"<arg_key>"},
     .opens = {"<tool_call>"},
     .specials = true,
     .read = glm_read},
    {.name = "kimi",
     .signs = {"<|tool_calls_section_begin|>"},
     .opens = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_calls_section_end|>"},
     .specials = true,
     .read = kimi_read},
    {.name = "granite",
     .signs = {"<|tool_call|>", "start_of_role"},
     .opens = {"<|tool_call|>", "<tool_call>"},
     .specials = true,
     .arguments = "arguments",
     .read = granite_read},
    {.name = "gemma",
     .signs = {"<start_function_call>", "<|tool_call>"},
     .opens = {"<start_function_call>", "<|tool_call>"},
     .specials = true,
     .read = gemma_read},
};
/* What more than one template has is asked for last. */
static const char *const order[] = {"qwen3-coder", "glm",     "kimi",   "deepseek", "harmony",
                                    "gemma",       "mistral", "hermes", "granite",  "llama"};

const struct tool_format *tool_format(int i) {
    return i >= 0 && (size_t)i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

static const struct tool_format *named(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name)) return &formats[i];
    return NULL;
}

const struct tool_format *tool_format_of(const char *template) {
    for (size_t i = 0; template && i < sizeof order / sizeof *order; i++) {
        const struct tool_format *f = named(order[i]);
        for (int k = 0; k < TOOLS_MARKS; k++)
            if (f->signs[k] && strstr(template, f->signs[k])) return f;
    }
    /* Calls between these marks, of nothing more special, are JSON. */
    return template && strstr(template, "<tool_call>") ? named("hermes") : NULL;
}

static const struct thought_format thoughts[] = {
    {"think", "<think>", "</think>", NULL},
    {"mistral", "[THINK]", "[/THINK]", NULL},
    {"kimi", "◁think▷", "◁/think▷", NULL},
    {"seed", "<seed:think>", "</seed:think>", NULL},
    {"gemma", "<|channel>thought\n", "<channel|>", "<|channel>thought"},
    {"granite", "Here is my thought process:", "Here is my response:", NULL},
};

const struct thought_format *thought_format(int i) {
    return i >= 0 && (size_t)i < sizeof thoughts / sizeof *thoughts ? &thoughts[i] : NULL;
}

const struct thought_format *thought_format_of(const char *template) {
    for (size_t i = 0; template && i < sizeof thoughts / sizeof *thoughts; i++)
        if (strstr(template, thoughts[i].sign ? thoughts[i].sign : thoughts[i].open))
            return &thoughts[i];
    return NULL;
}
