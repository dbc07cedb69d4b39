/* /v1/chat/completions and /v1/completions. */
#include "examples/llm/api/form.h"
#include "examples/llm/api/tokens.h"
#include <string.h>

static json_t *usage_json(const struct answer *a) {
    struct usage u;
    answer_usage(a, &u);
    return json_pack("{s:I, s:I, s:I, s:{s:I}, s:{s:I}}", "prompt_tokens", (json_int_t)u.prompt,
                     "completion_tokens", (json_int_t)u.generated, "total_tokens",
                     (json_int_t)(u.prompt + u.generated), "prompt_tokens_details", "cached_tokens",
                     (json_int_t)u.cached, "completion_tokens_details", "reasoning_tokens",
                     (json_int_t)u.reasoning);
}

/* ---- what both stream ---- */

static const char *object_of(const struct answer *a) {
    bool chat = a->request->dialect == DIALECT_CHAT;
    if (!chat) return "text_completion";
    return a->request->stream ? "chat.completion.chunk" : "chat.completion";
}

/* CHOICES is taken. */
static json_t *envelope(const struct answer *a, json_t *choices) {
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", a->id, "object", object_of(a), "created",
                     (json_int_t)a->created, "model", a->model->name, "choices", choices);
}

/* What is around the choices of each chunk is written once; in no string is a quote without a
 * backslash. */
static bool frame(struct answer *a) {
    static const char mark[] = "\"choices\":[]";
    if (a->framed) return true;
    json_t *chunk = envelope(a, json_array());
    if (a->request->usage) json_object_set_new(chunk, "usage", json_null());
    buffer_json(&a->frame, chunk);
    const char *at = a->frame.failed ? NULL : strstr(a->frame.data, mark);
    if (!at) return false;
    a->framed = (size_t)(at - a->frame.data) + sizeof mark - sizeof "[]"; /* before the brackets */
    return true;
}

static void send(struct answer *a, json_t *choices) {
    if (!choices || !frame(a)) {
        a->failed = true;
        json_decref(choices);
        return;
    }
    buffer_text(&a->events, "data: ");
    buffer_add(&a->events, a->frame.data, a->framed);
    buffer_json(&a->events, choices);
    buffer_text(&a->events, a->frame.data + a->framed + sizeof "[]" - 1);
    buffer_text(&a->events, "\n\n");
}

static void close_stream(struct answer *a) {
    struct fault f;
    bool failed = a->failed;
    for (int i = 0; i < a->nparts; i++)
        failed = failed || a->parts[i].failed;
    if (failed) {
        fault_set(&f, 500, NULL, NULL, "%s", *a->why ? a->why : "the answer was given up");
        answer_event(a, NULL, fault_json(&f, false));
    } else if (a->request->usage || a->request->timings) {
        json_t *chunk = envelope(a, json_array());
        json_object_set_new(chunk, "usage", usage_json(a));
        if (a->request->timings)
            json_object_set_new(chunk, "timings", answer_timings(&a->parts[0]));
        answer_event(a, NULL, chunk);
    }
    buffer_text(&a->events, "data: [DONE]\n\n");
}

static json_t *whole(struct answer *a, json_t *(*choice)(struct part *)) {
    json_t *choices = json_array();
    for (int i = 0; i < a->nparts; i++)
        json_array_append_new(choices, choice(&a->parts[i]));
    json_t *body = envelope(a, choices);
    json_object_set_new(body, "usage", usage_json(a));
    if (a->request->timings) json_object_set_new(body, "timings", answer_timings(&a->parts[0]));
    return body;
}

/* ---- chat ---- */

static void chat_chunk(struct part *p, json_t *delta, const char *finish) {
    send(p->answer, json_pack("[{s:i, s:o, s:o, s:s?}]", "index", p->index, "delta", delta,
                              "logprobs", tokens_fresh(p), "finish_reason", finish));
}

static void chat_begin(struct answer *a) {
    for (int i = 0; i < a->nparts; i++)
        chat_chunk(&a->parts[i], json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
}

static json_t *call_delta(struct part *p, enum piece piece, const char *text, size_t bytes) {
    const struct tool_call *call = &p->calls[p->ncalls - 1];
    if (piece == PIECE_ARGUMENTS)
        return json_pack("{s:[{s:i, s:{s:s%}}]}", "tool_calls", "index", p->ncalls - 1, "function",
                         "arguments", text, bytes);
    return json_pack("{s:[{s:i, s:s, s:s, s:{s:s%, s:s}}]}", "tool_calls", "index", p->ncalls - 1,
                     "id", call->id, "type", "function", "function", "name", text, bytes,
                     "arguments", "");
}

static void chat_piece(struct part *p, enum piece piece, const char *text, size_t bytes) {
    json_t *delta = piece == PIECE_TEXT ? json_pack("{s:s%}", "content", text, bytes)
                    : piece == PIECE_REASONING
                        ? json_pack("{s:s%}", "reasoning_content", text, bytes)
                        : call_delta(p, piece, text, bytes);
    chat_chunk(p, delta, NULL);
}

/* A call without arguments has an empty object of them. */
static void chat_end(struct part *p) {
    if (p->ncalls && !p->calls[p->ncalls - 1].arguments.n)
        chat_chunk(p, call_delta(p, PIECE_ARGUMENTS, "{}", 2), NULL);
    chat_chunk(p, json_object(), p->finish);
}

static json_t *calls_json(const struct part *p) {
    json_t *calls = json_array();
    for (int i = 0; i < p->ncalls; i++) {
        const struct tool_call *c = &p->calls[i];
        json_t *arguments = c->arguments.n ? answer_string(&c->arguments) : json_string("{}");
        json_array_append_new(calls, json_pack("{s:s, s:s, s:{s:o, s:o}}", "id", c->id, "type",
                                               "function", "function", "name",
                                               answer_string(&c->name), "arguments", arguments));
    }
    return calls;
}

static json_t *chat_choice(struct part *p) {
    bool silent = p->ncalls && !p->content.n;
    json_t *message = json_pack("{s:s, s:o, s:n}", "role", "assistant", "content",
                                silent ? json_null() : answer_string(&p->content), "refusal");
    if (p->answer->request->reasoning)
        json_object_set_new(message, "reasoning_content",
                            p->reasoning.n ? answer_string(&p->reasoning) : json_null());
    if (p->ncalls) json_object_set_new(message, "tool_calls", calls_json(p));
    return json_pack("{s:i, s:o, s:o, s:s}", "index", p->index, "message", message, "logprobs",
                     tokens_logprobs(p, p->tokens), "finish_reason", p->finish);
}

static json_t *chat_whole(struct answer *a) {
    json_t *body = whole(a, chat_choice);
    if (a->parts[0].prompt_tokens)
        json_object_set_new(body, "prompt_logprobs", tokens_prompt_logprobs(&a->parts[0]));
    return body;
}

const struct form form_chat = {chat_begin, chat_piece, chat_end, close_stream, chat_whole};

/* ---- completions ---- */

static void text_chunk(struct part *p, const char *text, size_t bytes, const char *finish) {
    send(p->answer, json_pack("[{s:i, s:s%, s:o, s:s?}]", "index", p->index, "text", text, bytes,
                              "logprobs", tokens_fresh(p), "finish_reason", finish));
}

static void text_begin(struct answer *a) {
    (void)a;
}

static void text_piece(struct part *p, enum piece piece, const char *text, size_t bytes) {
    (void)piece;
    text_chunk(p, text, bytes, NULL);
}

static void text_end(struct part *p) {
    text_chunk(p, "", 0, p->finish);
}

static json_t *text_choice(struct part *p) {
    json_t *choice =
        json_pack("{s:i, s:o, s:o, s:s}", "index", p->index, "text", answer_string(&p->content),
                  "logprobs", tokens_logprobs(p, p->tokens), "finish_reason", p->finish);
    if (p->prompt_tokens && json_object_get(p->answer->request->body, "prompt_logprobs"))
        json_object_set_new(choice, "prompt_logprobs", tokens_prompt_logprobs(p));
    return choice;
}

static json_t *text_whole(struct answer *a) {
    return whole(a, text_choice);
}

const struct form form_completions = {text_begin, text_piece, text_end, close_stream, text_whole};
