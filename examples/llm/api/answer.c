#include "examples/llm/api/answer.h"
#include "examples/llm/api/form.h"
#include "examples/llm/api/tokens.h"
#include "examples/llm/grammar/grammar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const struct form *const forms[] = {
    [DIALECT_CHAT] = &form_chat,
    [DIALECT_COMPLETIONS] = &form_completions,
    [DIALECT_RESPONSES] = &form_responses,
    [DIALECT_MESSAGES] = &form_messages,
    [DIALECT_OLLAMA] = &form_ollama,
    [DIALECT_NATIVE] = &form_native,
    [DIALECT_EMBEDDINGS] = &form_embeddings,
    [DIALECT_RERANK] = &form_rerank,
    [DIALECT_OLLAMA_EMBED] = &form_ollama_embed,
};
static const char *const prefixes[] = {
    [DIALECT_CHAT] = "chatcmpl-",       [DIALECT_COMPLETIONS] = "cmpl-",
    [DIALECT_RESPONSES] = "resp_",      [DIALECT_MESSAGES] = "msg_",
    [DIALECT_OLLAMA] = "ollama-",       [DIALECT_NATIVE] = "cmpl-",
    [DIALECT_EMBEDDINGS] = "embd-",     [DIALECT_RERANK] = "rerank-",
    [DIALECT_OLLAMA_EMBED] = "ollama-",
};

/* The letters of an id that no other answer has. */
static void new_id(char *out, size_t bytes, const char *prefix) {
    unsigned char random[12] = {0};
    if (getrandom(random, sizeof random, GRND_NONBLOCK) < 0)
        snprintf((char *)random, sizeof random, "%lx", (unsigned long)clock());
    int n = snprintf(out, bytes, "%s", prefix);
    for (size_t i = 0; i < sizeof random && (size_t)n + 2 < bytes; i++)
        n += snprintf(out + n, bytes - (size_t)n, "%02x", random[i]);
}

void answer_event(struct answer *a, const char *name, json_t *data) {
    if (!data) a->failed = true;
    if (name) buffer_format(&a->events, "event: %s\n", name);
    buffer_text(&a->events, "data: ");
    buffer_json(&a->events, data);
    buffer_text(&a->events, "\n\n");
}

json_t *answer_string(const struct buffer *b) {
    return json_stringn(b->data ? b->data : "", b->n);
}

/* ---- pieces ---- */

static struct tool_call *new_call(struct part *p) {
    struct tool_call *calls = realloc(p->calls, (size_t)(p->ncalls + 1) * sizeof *calls);
    if (!calls) return NULL;
    p->calls = calls;
    calls[p->ncalls] = (struct tool_call){0};
    new_id(calls[p->ncalls].id, sizeof calls->id, "call_");
    return &calls[p->ncalls++];
}

static void keep(struct part *p, enum piece piece, const char *text, size_t bytes) {
    struct tool_call *call = p->ncalls ? &p->calls[p->ncalls - 1] : NULL;
    if (piece == PIECE_CALL) call = new_call(p);
    struct buffer *to = piece == PIECE_TEXT        ? &p->content
                        : piece == PIECE_REASONING ? &p->reasoning
                        : !call                    ? NULL
                        : piece == PIECE_CALL      ? &call->name
                                                   : &call->arguments;
    if (to) buffer_add(to, text, bytes);
    if (!to || to->failed) p->answer->failed = true;
}

static void take_piece(void *user, enum piece piece, const char *text, size_t bytes) {
    struct part *p = user;
    keep(p, piece, text, bytes);
    if (p->answer->request->stream && !p->answer->failed)
        p->answer->form->piece(p, piece, text, bytes);
}

/* ---- tokens ---- */

static bool ends_here(const struct request *r, int32_t id) {
    for (int i = 0; i < r->nstop_ids; i++)
        if (r->stop_ids[i] == id) return true;
    return false;
}

/* A grammar says nothing of reasoning, which may come first. */
static bool is_bound(const struct part *p) {
    return p->answer->request->grammar && !text_thinks(p->text);
}

bool answer_mask(struct answer *a, int text, float *logits) {
    struct part *p = &a->parts[text];
    if (!is_bound(p)) return true;
    if (p->complete) return false;
    bool stops = p->may_end && !a->request->run_on;
    vocabulary_mask(a->model->vocabulary, p->allowed, a->model->stops, stops ? a->model->nstops : 0,
                    logits);
    return true;
}

bool answer_owes(const struct answer *a, int text) {
    return a->parts[text].owes;
}

bool answer_advance(struct answer *a, int text) {
    struct part *p = &a->parts[text];
    struct grammar *g = a->request->grammar;
    if (!p->owes) return true;
    if (p->owed >= 0) {
        size_t bytes;
        bool special;
        const char *word = tokenizer_bytes(a->model->tokenizer, p->owed, &bytes, &special);
        p->state = grammar_step(g, p->state, word ? word : "", word ? bytes : 0);
    }
    p->owed = -1;
    p->owes = false;
    p->complete = !grammar_goes_on(g, p->state);
    p->may_end = grammar_ends(g, p->state);
    if (!p->complete) grammar_allowed(g, p->state, a->model->vocabulary, p->allowed);
    return !p->complete;
}

void answer_prompt_token(struct answer *a, int text, size_t at, const struct engine_token *token) {
    struct part *p = &a->parts[text];
    if (p->prompt_tokens && !tokens_note_prompt(p, at, token)) a->failed = true;
}

bool answer_token(struct answer *a, int text, const struct engine_token *token) {
    struct part *p = &a->parts[text];
    size_t reasoned = p->reasoning.n;
    p->ntokens++;
    if (ends_here(a->request, token->id)) return false;
    if (a->request->logprobs && !tokens_note(p, token)) a->failed = true;
    bool bound = is_bound(p);
    bool more = text_push(p->text, token->id);
    if (bound) {
        p->owed = token->id;
        p->owes = true;
    }
    if (p->reasoning.n > reasoned) p->nreasoning++;
    if (text_failed(p->text)) a->failed = true;
    return more && !a->failed && !a->events.failed;
}

void answer_vector(struct answer *a, int text, const float *values, int64_t width) {
    struct part *p = &a->parts[text];
    if (!texts_take(p, values, width)) snprintf(a->why, sizeof a->why, "%.200s", p->fault.message);
}

static const char *finish_of(const struct part *p) {
    switch (p->result.end) {
    case ENGINE_LENGTH:
        return "length";
    case ENGINE_CANCELLED:
    case ENGINE_FAILED:
        return "error";
    case ENGINE_STOP:
    case ENGINE_ENOUGH:
        break;
    }
    return p->ncalls ? "tool_calls" : "stop";
}

bool answer_end(struct answer *a, int text, const struct engine_result *result) {
    struct part *p = &a->parts[text];
    p->result = *result;
    p->result.why = NULL;
    p->failed = result->end == ENGINE_FAILED || result->end == ENGINE_CANCELLED;
    if (result->end == ENGINE_FAILED)
        snprintf(a->why, sizeof a->why, "%.*s", (int)strcspn(result->why, "\n"), result->why);
    if (*p->fault.message) p->failed = true;
    if (p->text) text_finish(p->text);
    p->finish = finish_of(p);
    if ((p->text && text_failed(p->text)) || a->events.failed) a->failed = true;
    if (a->request->stream && !p->failed && !a->failed) a->form->end(p);
    if (++a->nended < a->nparts) return false;
    if (a->request->stream) a->form->close(a);
    return true;
}

/* ---- all of it ---- */

static bool any_failed(const struct answer *a) {
    for (int i = 0; i < a->nparts; i++)
        if (a->parts[i].failed) return true;
    return a->failed || a->events.failed;
}

int answer_body(struct answer *a, struct buffer *out) {
    struct fault f;
    if (!any_failed(a)) {
        buffer_json(out, a->form->whole(a));
        if (!out->failed) return 200;
        buffer_free(out);
    }
    fault_set(&f, 500, NULL, NULL, "%s",
              *a->why     ? a->why
              : a->failed ? "out of memory"
                          : "the answer was given up: the server is stopping");
    buffer_json(out, fault_json(&f, a->request->dialect == DIALECT_MESSAGES));
    return 500;
}

void answer_usage(const struct answer *a, struct usage *out) {
    *out = (struct usage){0};
    for (int i = 0; i < a->nparts; i++) {
        const struct part *p = &a->parts[i];
        /* A text that still runs has no result; the token that ended one is no text. */
        out->generated += p->finish ? p->result.generated : p->ntokens;
        out->reasoning += p->nreasoning;
        /* Several texts of one prompt: it is asked for once. */
        if (i && p->prompt == a->parts[i - 1].prompt) continue;
        out->prompt += (int64_t)p->prompt->n;
        out->dropped += (int64_t)p->prompt->dropped;
        out->cached += p->result.cached;
    }
}

static bool make_parts(struct answer *a) {
    const struct request *r = a->request;
    a->parts = calloc((size_t)(r->nprompts * r->n) + 1, sizeof *a->parts);
    if (!a->parts) return false;
    for (int i = 0; i < r->nprompts * (int)r->n; i++) {
        struct part *p = &a->parts[a->nparts++];
        p->answer = a;
        p->index = i;
        p->prompt = &r->prompts[i / r->n];
        p->item = -1;
        p->state = r->grammar ? grammar_start(r->grammar) : GRAMMAR_DEAD;
        if (r->grammar && p->state < 0) return false;
        p->owed = -1;
        p->owes = r->grammar != NULL;
        p->allowed =
            r->grammar ? calloc(vocabulary_words(a->model->vocabulary), sizeof *p->allowed) : NULL;
        if (r->grammar && !p->allowed) return false;
        if (r->prompt_top >= 0 && !(p->prompt_tokens = tokens_prompt(p))) return false;
        if (r->vectors) continue;
        p->text = text_make(a->model, r, p->prompt, take_piece, p);
        if (!p->text) return false;
        if (r->logprobs && (!(p->tokens = json_array()) || !(p->fresh = json_array())))
            return false;
    }
    return true;
}

/* What was asked is the beginning of the text where a client wants it so. */
static bool echo(struct answer *a) {
    for (int i = 0; i < a->nparts; i++) {
        char *text;
        size_t bytes;
        struct part *p = &a->parts[i];
        if (!tokenizer_decode(a->model->tokenizer, p->prompt->v, p->prompt->n, 0, &text, &bytes))
            return false;
        if (bytes) take_piece(p, PIECE_TEXT, text, bytes);
        free(text);
    }
    return true;
}

struct answer *answer_make(const struct api_model *m, struct request *r) {
    struct answer *a = calloc(1, sizeof *a);
    if (!a) {
        request_free(r);
        return NULL;
    }
    a->model = m;
    a->request = r;
    a->form = forms[r->dialect];
    a->created = (int64_t)time(NULL);
    new_id(a->id, sizeof a->id, prefixes[r->dialect]);
    bool ok = make_parts(a);
    if (ok && r->stream) a->form->begin(a);
    if (ok && r->echo) ok = echo(a);
    if (ok && !a->failed) return a;
    answer_free(a);
    return NULL;
}

static void part_free(struct part *p) {
    text_free(p->text);
    buffer_free(&p->content);
    buffer_free(&p->reasoning);
    for (int i = 0; i < p->ncalls; i++) {
        buffer_free(&p->calls[i].name);
        buffer_free(&p->calls[i].arguments);
    }
    free(p->calls);
    json_decref(p->tokens);
    json_decref(p->prompt_tokens);
    free(p->allowed);
    free(p->values);
    json_decref(p->fresh);
}

void answer_free(struct answer *a) {
    if (!a) return;
    for (int i = 0; i < a->nparts; i++)
        part_free(&a->parts[i]);
    free(a->parts);
    buffer_free(&a->events);
    buffer_free(&a->frame);
    request_free(a->request);
    free(a);
}

int answer_texts(const struct answer *a) {
    return a->nparts;
}
const struct ids *answer_prompt(const struct answer *a, int text) {
    return a->parts[text].prompt;
}
const struct request *answer_request(const struct answer *a) {
    return a->request;
}
const char *answer_id(const struct answer *a) {
    return a->id;
}
struct buffer *answer_events(struct answer *a) {
    return &a->events;
}
