/* run.c - a conversation in the terminal: a line is what the user says, what comes is the answer.
 */
#include "examples/llm/api/chat.h"
#include "examples/llm/api/text.h"
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/engine/stops.h"
#include "examples/llm/options.h"
#include "examples/llm/prepare/prepare.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct conversation {
    struct engine *engine;
    struct tokenizer *tokenizer;
    struct stops stops;
    struct api_model model;
    json_t *messages;
    /* Of the answer that is being written; the engine's thread adds to it. */
    struct text *text;
    struct buffer said;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool done;
    char why[LLM_ERR];
};

static void take_piece(void *user, enum piece piece, const char *text, size_t bytes) {
    struct conversation *c = user;
    if (piece != PIECE_TEXT) return;
    buffer_add(&c->said, text, bytes);
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
}

static bool take_token(void *user, const struct engine_token *token) {
    struct conversation *c = user;
    return text_push(c->text, token->id);
}

static void take_end(void *user, const struct engine_result *result) {
    struct conversation *c = user;
    pthread_mutex_lock(&c->lock);
    if (result->end == ENGINE_FAILED) llm_fail(c->why, "%s", result->why);
    c->done = true;
    pthread_cond_signal(&c->over);
    pthread_mutex_unlock(&c->lock);
}

static bool answer(struct conversation *c, const struct request *r, char *err) {
    uint64_t id;
    struct engine_job job = {.prompt = r->prompts[0].v,
                             .n = r->prompts[0].n,
                             .most = r->most,
                             .top = -1,
                             .sampling = r->sampling,
                             .sink = {.user = c, .token = take_token, .end = take_end}};
    c->text = text_make(&c->model, r, &r->prompts[0], take_piece, c);
    if (!c->text) return llm_fail(err, "out of memory");
    c->done = false;
    *c->why = 0;
    bool ok = engine_submit(c->engine, &job, 1, &id, err) == ENGINE_TAKEN;
    pthread_mutex_lock(&c->lock);
    while (ok && !c->done)
        pthread_cond_wait(&c->over, &c->lock);
    pthread_mutex_unlock(&c->lock);
    if (ok) text_finish(c->text);
    text_free(c->text);
    return ok && (!*c->why || llm_fail(err, "%s", c->why));
}

/* One turn. What was said before is told again each time; the engine has it already. */
static bool turn(struct conversation *c, const char *line, char *err) {
    struct fault f;
    struct request *r;
    json_array_append_new(c->messages, json_pack("{s:s, s:s}", "role", "user", "content", line));
    json_t *body = json_pack("{s:O}", "messages", c->messages);
    if (!request_read(&c->model, DIALECT_CHAT, body, &r, &f)) return llm_fail(err, "%s", f.message);
    bool ok = answer(c, r, err);
    request_free(r);
    puts("");
    if (ok)
        json_array_append_new(c->messages, json_pack("{s:s, s:s%}", "role", "assistant", "content",
                                                     c->said.data ? c->said.data : "", c->said.n));
    buffer_free(&c->said);
    return ok;
}

static bool talk(struct conversation *c, char *err) {
    bool asks = isatty(STDIN_FILENO) != 0, ok = true;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while (ok) {
        if (asks) fputs("> ", stdout);
        fflush(stdout);
        if ((n = getline(&line, &cap, stdin)) <= 0) break;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = 0;
        if (n) ok = turn(c, line, err);
    }
    free(line);
    return ok;
}

static bool begin(struct conversation *c, const struct options *o, const char *kernel,
                  const char *folder, struct chat **chat, char *err) {
    struct engine_options e = {.kernel = kernel, .device = o->device, .cache = o->expert_cache};
    struct engine_sizes sizes;
    if (!tokenizer_load(folder, &c->tokenizer, err) || !stops_read(folder, &c->stops, err) ||
        !chat_open(folder, NULL, chat, err))
        return false;
    struct engine_model model = {NULL, folder, c->stops.ids, c->stops.n};
    if (!engine_open(&e, &model, 1, &c->engine, err)) return false;
    engine_sizes(c->engine, &sizes);
    c->messages = json_array();
    c->model = (struct api_model){.name = folder,
                                  .tokenizer = c->tokenizer,
                                  .chat = *chat,
                                  .context = sizes.context,
                                  .vocab = sizes.vocab,
                                  .most = o->serve.most,
                                  .choices = 1,
                                  .usual = sampling_greedy(),
                                  .stops = c->stops.ids,
                                  .nstops = c->stops.n};
    c->model.usual.temperature = o->temperature;
    return c->messages || llm_fail(err, "out of memory");
}

bool run_chat(const struct options *o, const char *kernel, const char *folder) {
    struct conversation c = {.done = false};
    struct chat *chat = NULL;
    char err[LLM_ERR];
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.over, NULL);
    bool ok = begin(&c, o, kernel, folder, &chat, err) && talk(&c, err);
    engine_close(c.engine);
    chat_close(chat);
    tokenizer_free(c.tokenizer);
    json_decref(c.messages);
    return ok || llm_complain("%s", err);
}
