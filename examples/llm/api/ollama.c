/* Ollama's /api/chat and /api/generate: requests as those of chat, answers as lines of JSON. */
#include "examples/llm/api/form.h"
#include "examples/llm/api/tokens.h"
#include "examples/llm/base/json_text.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- requests ---- */

static const struct {
    const char *from, *to;
} options[] = {{"temperature", "temperature"},
               {"top_k", "top_k"},
               {"top_p", "top_p"},
               {"min_p", "min_p"},
               {"seed", "seed"},
               {"stop", "stop"},
               {"num_predict", "n_predict"},
               {"repeat_penalty", "repeat_penalty"},
               {"presence_penalty", "presence_penalty"},
               {"frequency_penalty", "frequency_penalty"}};
/* What says how to load a model, and what makes no difference where it is 0 or 1. */
static const char loading[] = " num_ctx num_batch num_gpu num_thread num_keep main_gpu use_mmap "
                              "numa low_vram repeat_last_n penalize_newline ";

static bool is_among(const char *words, const char *word) {
    char padded[64];
    int n = snprintf(padded, sizeof padded, " %s ", word);
    return n < (int)sizeof padded && strstr(words, padded);
}

static void read_options(json_t *out, const json_t *given) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)given, name, value) {
        const char *to = NULL;
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (!strcmp(options[i].from, name)) to = options[i].to;
        /* -2: until the context is full, as is said here by -1. */
        if (to && !strcmp(to, "n_predict") && json_integer_value(value) < 0) continue;
        if (to)
            json_object_set(out, to, value);
        else if (!is_among(loading, name))
            json_object_set(out, name, value); /* refused by its name, or of no effect as it is */
    }
}

/* Ollama gives arguments of calls as objects. */
static json_t *message_of(const json_t *message) {
    json_t *copy = json_deep_copy(message), *call;
    size_t i;
    json_array_foreach(json_object_get(copy, "tool_calls"), i, call) {
        json_t *function = json_object_get(call, "function");
        json_t *arguments = json_object_get(function, "arguments");
        struct buffer text = {0};
        if (json_is_object(arguments)) {
            buffer_json(&text, json_incref(arguments));
            json_object_set_new(function, "arguments",
                                json_stringn(text.data ? text.data : "", text.n));
        }
        buffer_free(&text);
        if (!json_object_get(call, "type"))
            json_object_set_new(call, "type", json_string("function"));
    }
    const json_t *thinking = json_object_get(copy, "thinking");
    if (thinking) json_object_set(copy, "reasoning_content", (json_t *)thinking);
    json_object_del(copy, "thinking");
    json_object_del(copy, "tool_name");
    /* Pictures are refused where contents are. */
    const json_t *images = json_object_get(copy, "images");
    if (json_array_size(images))
        json_object_set_new(copy, "content", json_pack("[{s:s}]", "type", "image"));
    json_object_del(copy, "images");
    return copy;
}

static json_t *messages_of(const json_t *body) {
    json_t *out = json_array();
    const json_t *list = json_object_get(body, "messages");
    const json_t *prompt = json_object_get(body, "prompt"),
                 *system = json_object_get(body, "system");
    if (json_is_string(system))
        json_array_append_new(out, json_pack("{s:s, s:O}", "role", "system", "content", system));
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append_new(out, message_of(json_array_get(list, i)));
    if (prompt)
        json_array_append_new(out, json_pack("{s:s, s:O}", "role", "user", "content", prompt));
    return out;
}

/* Messages; or a text with a hole; or a prompt that is given as it is. */
static void put_prompt(json_t *out, const json_t *body) {
    json_t *prompt = json_object_get(body, "prompt"), *suffix = json_object_get(body, "suffix");
    if (json_string_length(suffix)) {
        json_object_set(out, "input_prefix", prompt);
        json_object_set(out, "input_suffix", suffix);
    } else if (json_is_true(json_object_get(body, "raw"))) {
        json_object_set(out, "api_prompt", prompt);
    } else {
        json_object_set_new(out, "messages", messages_of(body));
    }
}

json_t *convert_ollama(const json_t *body, struct fault *f) {
    static const char taken[] =
        " messages prompt system options format stream keep_alive think images suffix raw ";
    const char *name;
    json_t *value, *out = json_object();
    const json_t *stream = json_object_get(body, "stream"), *think = json_object_get(body, "think");
    const json_t *format = json_object_get(body, "format");
    json_object_foreach((json_t *)body, name,
                        value) if (!is_among(taken, name) && !json_is_null(value))
        json_object_set(out, name, value);
    put_prompt(out, body);
    json_object_set_new(out, "stream", json_boolean(!stream || json_is_true(stream)));
    if (json_is_object(format))
        json_object_set(out, "json_schema", (json_t *)format);
    else if (json_string_length(format))
        json_object_set_new(out, "response_format", json_pack("{s:s}", "type", "json_object"));
    if (think)
        json_object_set_new(out, "chat_template_kwargs",
                            json_pack("{s:b}", "enable_thinking", !json_is_false(think)));
    if (json_array_size(json_object_get(body, "images"))) {
        json_decref(out);
        fault_set(f, 400, "images", "unsupported_value", "'images' are not supported");
        return NULL;
    }
    read_options(out, json_object_get(body, "options"));
    return out;
}

/* ---- answers ---- */

static bool is_text(const struct answer *a) {
    return json_is_true(json_object_get(a->request->body, "api_generate"));
}

static json_t *line(const struct answer *a) {
    char when[40];
    struct tm tm;
    time_t created = (time_t)a->created;
    gmtime_r(&created, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_pack("{s:s, s:s}", "model", a->model->name, "created_at", when);
}

static json_t *calls_of(const struct part *p) {
    json_t *list = json_array();
    for (int i = 0; i < p->ncalls; i++) {
        const struct tool_call *c = &p->calls[i];
        json_t *arguments = json_text(c->arguments.data ? c->arguments.data : "", c->arguments.n,
                                      JSON_ALLOW_NUL, NULL);
        json_array_append_new(list, json_pack("{s:{s:o, s:o}}", "function", "name",
                                              answer_string(&c->name), "arguments",
                                              arguments ? arguments : json_object()));
    }
    return list;
}

static void put(struct answer *a, json_t *value) {
    if (!value) a->failed = true;
    buffer_json(&a->events, value);
    buffer_text(&a->events, "\n");
}

static void set_text(const struct answer *a, json_t *out, json_t *content, json_t *thinking) {
    if (is_text(a)) {
        json_object_set_new(out, "response", content);
        if (thinking) json_object_set_new(out, "thinking", thinking);
        return;
    }
    json_t *message = json_pack("{s:s, s:o}", "role", "assistant", "content", content);
    if (thinking) json_object_set_new(message, "thinking", thinking);
    json_object_set_new(out, "message", message);
}

static void begin(struct answer *a) {
    (void)a;
}

static void piece(struct part *p, enum piece kind, const char *text, size_t bytes) {
    json_t *out;
    if (kind != PIECE_TEXT && kind != PIECE_REASONING) return; /* calls come at the end */
    out = line(p->answer);
    bool thinks = kind == PIECE_REASONING;
    set_text(p->answer, out, json_stringn(text, thinks ? 0 : bytes),
             thinks ? json_stringn(text, bytes) : NULL);
    json_object_set_new(out, "done", json_false());
    if (p->fresh) json_object_set_new(out, "logprobs", tokens_fresh(p));
    put(p->answer, out);
}

/* What the last line, or the only one, says. */
static json_t *ended(struct part *p, bool whole) {
    const struct answer *a = p->answer;
    const struct engine_result *r = &p->result;
    struct usage u;
    answer_usage(a, &u);
    json_t *out = line(a);
    set_text(a, out, whole ? answer_string(&p->content) : json_string(""),
             whole && p->reasoning.n ? answer_string(&p->reasoning) : NULL);
    if (p->ncalls) json_object_set_new(json_object_get(out, "message"), "tool_calls", calls_of(p));
    bool cut = p->finish && !strcmp(p->finish, "length");
    double first = r->first > 0 ? r->first : r->last;
    json_t *more = json_pack(
        "{s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "done", 1, "done_reason",
        cut ? "length" : "stop", "total_duration", (json_int_t)((r->last - r->submitted) * 1e9),
        "load_duration", (json_int_t)0, "prompt_eval_count", (json_int_t)u.prompt,
        "prompt_eval_duration", (json_int_t)((first - r->submitted) * 1e9), "eval_count",
        (json_int_t)u.generated, "eval_duration", (json_int_t)((r->last - first) * 1e9));
    json_object_update(out, more);
    json_decref(more);
    const json_t *told = whole ? p->tokens : p->fresh;
    if (whole ? told != NULL : json_array_size(told) > 0)
        json_object_set_new(out, "logprobs", tokens_logprobs(p, told));
    return out;
}

static void end(struct part *p) {
    put(p->answer, ended(p, false));
}

static void close_stream(struct answer *a) {
    if (a->parts[0].failed || a->failed)
        put(a, json_pack("{s:s}", "error", *a->why ? a->why : "the answer was given up"));
}

static json_t *whole(struct answer *a) {
    return ended(&a->parts[0], true);
}

const struct form form_ollama = {begin, piece, end, close_stream, whole};
