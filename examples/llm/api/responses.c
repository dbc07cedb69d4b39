/* /v1/responses: one text, as a list of items: reasoning, a message, calls of tools. */
#include "examples/llm/api/form.h"
#include "examples/llm/api/tokens.h"
#include <stdio.h>
#include <string.h>

/* Events are numbered; the text that is streamed counts them in OFFSET. */
static void event(struct part *p, const char *type, json_t *data) {
    json_object_set_new(data, "type", json_string(type));
    json_object_set_new(data, "sequence_number", json_integer((json_int_t)p->offset++));
    answer_event(p->answer, type, data);
}

static void item_id(const struct part *p, int item, char out[64]) {
    snprintf(out, 64, "item_%d_%s", item, p->answer->id);
}

/* An item as it is when it begins (not DONE) or at its end. */
static json_t *item_json(const struct part *p, int item, enum piece kind, int call, bool done) {
    char id[64];
    const char *status = done ? "completed" : "in_progress";
    static const struct buffer none;
    item_id(p, item, id);
    if (kind == PIECE_REASONING) {
        json_t *content = done ? json_pack("[{s:s, s:o}]", "type", "reasoning_text", "text",
                                           answer_string(&p->reasoning))
                               : json_array();
        return json_pack("{s:s, s:s, s:[], s:o, s:s}", "id", id, "type", "reasoning", "summary",
                         "content", content, "status", status);
    }
    if (kind == PIECE_TEXT) {
        json_t *content = done ? json_pack("[{s:s, s:o, s:[], s:o}]", "type", "output_text", "text",
                                           answer_string(&p->content), "annotations", "logprobs",
                                           tokens_of_text(p))
                               : json_array();
        return json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", id, "type", "message", "status", status,
                         "role", "assistant", "content", content);
    }
    const struct tool_call *c = &p->calls[call];
    bool bare = done && !c->arguments.n;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s}", "id", id, "type", "function_call", "call_id",
                     c->id, "name", answer_string(&c->name), "arguments",
                     bare ? json_string("{}") : answer_string(done ? &c->arguments : &none),
                     "status", status);
}

static json_t *usage_json(const struct answer *a) {
    struct usage u;
    answer_usage(a, &u);
    return json_pack("{s:I, s:{s:I}, s:I, s:{s:I}, s:I}", "input_tokens", (json_int_t)u.prompt,
                     "input_tokens_details", "cached_tokens", (json_int_t)u.cached, "output_tokens",
                     (json_int_t)u.generated, "output_tokens_details", "reasoning_tokens",
                     (json_int_t)u.reasoning, "total_tokens", (json_int_t)(u.prompt + u.generated));
}

/* OUTPUT is taken. STATUS: in_progress, completed, incomplete, failed. */
static json_t *response(const struct answer *a, const char *status, json_t *output) {
    const struct request *r = a->request;
    const json_t *choice = json_object_get(r->body, "tool_choice");
    bool over = strcmp(status, "in_progress") != 0, cut = !strcmp(status, "incomplete");
    json_t *details = cut ? json_pack("{s:s}", "reason", "max_output_tokens") : json_null();
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o, s:o, s:n, s:o, s:n, s:{}, s:b, s:o, s:o, s:f, "
                     "s:f}",
                     "id", a->id, "object", "response", "created_at", (json_int_t)a->created,
                     "status", status, "model", a->model->name, "output", output, "usage",
                     over ? usage_json(a) : json_null(), "error", "incomplete_details", details,
                     "instructions", "metadata", "parallel_tool_calls", r->parallel, "tool_choice",
                     choice ? json_deep_copy(choice) : json_string("auto"), "tools",
                     r->tools ? json_deep_copy(r->tools) : json_array(), "temperature",
                     r->sampling.temperature, "top_p", r->sampling.top_p);
}

static json_t *output(const struct part *p) {
    json_t *list = json_array();
    int item = 0;
    if (p->reasoning.n) json_array_append_new(list, item_json(p, item++, PIECE_REASONING, 0, true));
    if (p->content.n || !p->ncalls)
        json_array_append_new(list, item_json(p, item++, PIECE_TEXT, 0, true));
    for (int i = 0; i < p->ncalls; i++)
        json_array_append_new(list, item_json(p, item++, PIECE_CALL, i, true));
    return list;
}

static const char *status_of(const struct part *p) {
    if (p->failed) return "failed";
    return p->finish && !strcmp(p->finish, "length") ? "incomplete" : "completed";
}

static json_t *whole(struct answer *a) {
    return response(a, status_of(&a->parts[0]), output(&a->parts[0]));
}

/* ---- streamed ---- */

static void begin(struct answer *a) {
    struct part *p = &a->parts[0];
    event(p, "response.created",
          json_pack("{s:o}", "response", response(a, "in_progress", json_array())));
    event(p, "response.in_progress",
          json_pack("{s:o}", "response", response(a, "in_progress", json_array())));
}

static json_t *place(const struct part *p) {
    char id[64];
    item_id(p, p->item, id);
    json_t *at = json_pack("{s:s, s:i}", "item_id", id, "output_index", p->item);
    if (p->item_kind != PIECE_CALL) json_object_set_new(at, "content_index", json_integer(0));
    return at;
}

static json_t *content_part(const struct part *p, bool done) {
    static const struct buffer none;
    if (p->item_kind == PIECE_REASONING)
        return json_pack("{s:s, s:o}", "type", "reasoning_text", "text",
                         answer_string(done ? &p->reasoning : &none));
    return json_pack("{s:s, s:o, s:[], s:o}", "type", "output_text", "text",
                     answer_string(done ? &p->content : &none), "annotations", "logprobs",
                     done ? tokens_of_text(p) : json_array());
}

static void close_item(struct part *p) {
    if (p->item < 0) return;
    json_t *at = place(p);
    if (p->item_kind == PIECE_CALL) {
        const struct buffer *arguments = &p->calls[p->ncalls - 1].arguments;
        json_object_set_new(at, "arguments",
                            arguments->n ? answer_string(arguments) : json_string("{}"));
        event(p, "response.function_call_arguments.done", at);
    } else {
        bool thinks = p->item_kind == PIECE_REASONING;
        json_object_set_new(at, "text", answer_string(thinks ? &p->reasoning : &p->content));
        if (!thinks) json_object_set_new(at, "logprobs", tokens_of_text(p));
        event(p, thinks ? "response.reasoning_text.done" : "response.output_text.done", at);
        at = place(p);
        json_object_set_new(at, "part", content_part(p, true));
        event(p, "response.content_part.done", at);
    }
    event(p, "response.output_item.done",
          json_pack("{s:i, s:o}", "output_index", p->item, "item",
                    item_json(p, p->item, p->item_kind, p->ncalls - 1, true)));
    p->item = -1;
}

static void open_item(struct part *p, enum piece kind) {
    close_item(p);
    p->item = p->nitems++;
    p->item_kind = kind;
    event(p, "response.output_item.added",
          json_pack("{s:i, s:o}", "output_index", p->item, "item",
                    item_json(p, p->item, kind, p->ncalls - 1, false)));
    if (kind == PIECE_CALL) return;
    json_t *at = place(p);
    json_object_set_new(at, "part", content_part(p, false));
    event(p, "response.content_part.added", at);
}

static void piece(struct part *p, enum piece kind, const char *text, size_t bytes) {
    bool call = kind == PIECE_CALL || kind == PIECE_ARGUMENTS;
    if (kind == PIECE_CALL || p->item < 0 || (!call && p->item_kind != kind))
        open_item(p, call ? PIECE_CALL : kind);
    if (kind == PIECE_CALL) return;
    json_t *at = place(p);
    json_object_set_new(at, "delta", json_stringn(text, bytes));
    json_t *fresh = tokens_fresh(p);
    if (kind == PIECE_TEXT) json_object_set(at, "logprobs", fresh);
    json_decref(fresh);
    event(p,
          call                      ? "response.function_call_arguments.delta"
          : kind == PIECE_REASONING ? "response.reasoning_text.delta"
                                    : "response.output_text.delta",
          at);
}

static void end(struct part *p) {
    if (!p->nitems) open_item(p, PIECE_TEXT);
    close_item(p);
}

static void close_stream(struct answer *a) {
    struct part *p = &a->parts[0];
    char type[40];
    json_t *all = response(a, status_of(p), output(p));
    if (p->failed)
        json_object_set_new(all, "error",
                            json_pack("{s:s, s:s}", "code", "server_error", "message",
                                      *a->why ? a->why : "the answer was given up"));
    snprintf(type, sizeof type, "response.%s", status_of(p));
    event(p, type, json_pack("{s:o}", "response", all));
}

const struct form form_responses = {begin, piece, end, close_stream, whole};
