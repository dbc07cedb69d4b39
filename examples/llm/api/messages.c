/* /v1/messages, as Anthropic's programs expect it: one text as a list of blocks. */
#include "examples/llm/api/form.h"
#include "examples/llm/base/json_text.h"
#include <string.h>

static json_t *input_of(const struct tool_call *c) {
    json_t *input = c->arguments.n ? json_text(c->arguments.data, c->arguments.n,
                                               JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL)
                                   : NULL;
    if (json_is_object(input)) return input;
    json_decref(input);
    return json_object();
}

static const char *reason_of(const struct part *p) {
    if (!strcmp(p->finish, "length")) return "max_tokens";
    if (!strcmp(p->finish, "tool_calls")) return "tool_use";
    return text_stop(p->text) ? "stop_sequence" : "end_turn";
}

static json_t *usage_json(const struct answer *a) {
    struct usage u;
    answer_usage(a, &u);
    return json_pack("{s:I, s:I, s:I}", "input_tokens", (json_int_t)(u.prompt - u.cached),
                     "cache_read_input_tokens", (json_int_t)u.cached, "output_tokens",
                     (json_int_t)u.generated);
}

static json_t *block(const struct part *p, enum piece kind, int call) {
    if (kind == PIECE_REASONING)
        return json_pack("{s:s, s:o, s:s}", "type", "thinking", "thinking",
                         answer_string(&p->reasoning), "signature", "");
    if (kind == PIECE_TEXT)
        return json_pack("{s:s, s:o}", "type", "text", "text", answer_string(&p->content));
    const struct tool_call *c = &p->calls[call];
    return json_pack("{s:s, s:s, s:o, s:o}", "type", "tool_use", "id", c->id, "name",
                     answer_string(&c->name), "input", input_of(c));
}

static json_t *message(const struct answer *a, json_t *content, const char *reason) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:s?, s:o}", "id", a->id, "type", "message",
                     "role", "assistant", "model", a->model->name, "content", content,
                     "stop_reason", reason, "stop_sequence",
                     reason ? text_stop(a->parts[0].text) : NULL, "usage", usage_json(a));
}

static json_t *whole(struct answer *a) {
    const struct part *p = &a->parts[0];
    json_t *content = json_array();
    if (p->reasoning.n) json_array_append_new(content, block(p, PIECE_REASONING, 0));
    if (p->content.n || !p->ncalls) json_array_append_new(content, block(p, PIECE_TEXT, 0));
    for (int i = 0; i < p->ncalls; i++)
        json_array_append_new(content, block(p, PIECE_CALL, i));
    return message(a, content, reason_of(p));
}

/* ---- streamed ---- */

static void event(struct answer *a, const char *type, json_t *data) {
    json_object_set_new(data, "type", json_string(type));
    answer_event(a, type, data);
}

static void begin(struct answer *a) {
    event(a, "message_start", json_pack("{s:o}", "message", message(a, json_array(), NULL)));
    event(a, "ping", json_object());
}

static void close_block(struct part *p) {
    if (p->item < 0) return;
    event(p->answer, "content_block_stop", json_pack("{s:i}", "index", p->item));
    p->item = -1;
}

static void open_block(struct part *p, enum piece kind) {
    json_t *start;
    close_block(p);
    p->item = p->nitems++;
    p->item_kind = kind;
    if (kind == PIECE_REASONING)
        start = json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking", "", "signature", "");
    else if (kind == PIECE_TEXT)
        start = json_pack("{s:s, s:s}", "type", "text", "text", "");
    else
        start =
            json_pack("{s:s, s:s, s:o, s:{}}", "type", "tool_use", "id", p->calls[p->ncalls - 1].id,
                      "name", answer_string(&p->calls[p->ncalls - 1].name), "input");
    event(p->answer, "content_block_start",
          json_pack("{s:i, s:o}", "index", p->item, "content_block", start));
}

static void piece(struct part *p, enum piece kind, const char *text, size_t bytes) {
    bool call = kind == PIECE_CALL || kind == PIECE_ARGUMENTS;
    if (kind == PIECE_CALL || p->item < 0 || (!call && p->item_kind != kind))
        open_block(p, call ? PIECE_CALL : kind);
    if (kind == PIECE_CALL) return;
    const char *type = call                      ? "input_json_delta"
                       : kind == PIECE_REASONING ? "thinking_delta"
                                                 : "text_delta";
    const char *member = call ? "partial_json" : kind == PIECE_REASONING ? "thinking" : "text";
    event(p->answer, "content_block_delta",
          json_pack("{s:i, s:{s:s, s:s%}}", "index", p->item, "delta", "type", type, member, text,
                    bytes));
}

static void end(struct part *p) {
    if (!p->nitems) open_block(p, PIECE_TEXT);
    close_block(p);
    event(p->answer, "message_delta",
          json_pack("{s:{s:s, s:s?}, s:o}", "delta", "stop_reason", reason_of(p), "stop_sequence",
                    text_stop(p->text), "usage", usage_json(p->answer)));
}

static void close_stream(struct answer *a) {
    struct fault f;
    if (!a->parts[0].failed) {
        event(a, "message_stop", json_object());
        return;
    }
    fault_set(&f, 500, NULL, NULL, "%s", *a->why ? a->why : "the answer was given up");
    answer_event(a, "error", fault_json(&f, true));
}

const struct form form_messages = {begin, piece, end, close_stream, whole};
