#include "examples/llm/api/text.h"
#include "examples/llm/api/buffer.h"
#include <stdlib.h>
#include <string.h>

/* Where the splitter is. */
enum place {
    BEGINNING, /* nothing but white space came: a call or reasoning may begin */
    THINKING,
    AFTER_THINKING, /* white space is dropped */
    TEXT,
    CALLING,
    AFTER_CALL, /* white space between calls is dropped */
};

struct text {
    const struct api_model *model;
    const struct request *request;
    piece_taker *take;
    void *user;
    struct lm_decoder *decoder;
    struct buffer held; /* may be the beginning of a stop string */
    struct buffer part; /* may be the beginning of a mark */
    enum place place;
    struct call call;
    bool over, failed;
};

static const char think_open[] = "<think>", think_close[] = "</think>";
static const char call_open[] = "<tool_call>", call_close[] = "</tool_call>";

/* ---- taking apart ---- */

static void give(struct text *t, enum piece piece, size_t bytes) {
    if (bytes) t->take(t->user, piece, t->part.data, bytes);
    buffer_drop(&t->part, bytes);
}

static size_t spaces(const struct buffer *b) {
    size_t n = 0;
    while (n < b->n && strchr(" \t\r\n", b->data[n]) && b->data[n])
        n++;
    return n;
}

/* How many bytes at the end of B may be the beginning of WORD. */
static size_t begun(const struct buffer *b, const char *word) {
    size_t n = strlen(word) - 1;
    if (n > b->n) n = b->n;
    while (n && memcmp(b->data + b->n - n, word, n) != 0)
        n--;
    return n;
}

static const char *find(const struct buffer *b, const char *word) {
    return b->n ? memmem(b->data, b->n, word, strlen(word)) : NULL;
}

/* Gives all before MARK. True: the mark was there, and is dropped. False: more must come. */
static bool until(struct text *t, const char *mark, enum piece piece) {
    const char *at = find(&t->part, mark);
    if (at) {
        give(t, piece, (size_t)(at - t->part.data));
        buffer_drop(&t->part, strlen(mark));
        return true;
    }
    give(t, piece, t->part.n - begun(&t->part, mark));
    return false;
}

/* What looked like a call and has no name is text after all. */
static void end_call(struct text *t, bool marked) {
    struct call *c = &t->call;
    bool hermes = t->model->tools == TOOLS_HERMES;
    if (!c->named && c->raw.n) {
        if (hermes) t->take(t->user, PIECE_TEXT, call_open, sizeof call_open - 1);
        t->take(t->user, PIECE_TEXT, c->raw.data, c->raw.n);
        if (hermes && marked) t->take(t->user, PIECE_TEXT, call_close, sizeof call_close - 1);
    }
    if (c->raw.failed || c->name.failed || c->arguments.failed) t->failed = true;
    t->place = c->named ? AFTER_CALL : TEXT;
    /* One call was asked for, and is there. */
    if (c->named && !t->request->parallel) t->over = true;
    call_free(c);
}

/* The bytes of a call, up to where it ends. False: more must come. */
static bool in_call(struct text *t) {
    bool hermes = t->model->tools == TOOLS_HERMES;
    const char *mark = hermes ? find(&t->part, call_close) : NULL;
    size_t n = mark ? (size_t)(mark - t->part.data) : t->part.n;
    if (hermes && !mark) n -= begun(&t->part, call_close);
    size_t used = 0;
    for (; used < n && (hermes || !t->call.over); used++)
        if (!t->call.over) call_byte(&t->call, t->part.data[used], t->take, t->user);
    call_flush(&t->call, t->take, t->user);
    buffer_drop(&t->part, used);
    if (hermes ? !mark : !t->call.over) return false;
    if (mark) buffer_drop(&t->part, sizeof call_close - 1);
    end_call(t, mark != NULL);
    return true;
}

static bool calls_are_read(const struct text *t) {
    return t->request->tools && t->model->tools != TOOLS_NONE;
}

/* Only white space came so far. False: more must come to tell what this is. */
static bool at_beginning(struct text *t) {
    size_t white = spaces(&t->part), n = t->part.n - white;
    const char *rest = t->part.data + white;
    if (!n) return false;
    size_t open = sizeof think_open - 1, mark = sizeof call_open - 1;
    if (t->request->reasoning && !memcmp(rest, think_open, n < open ? n : open)) {
        if (n < open) return false;
        buffer_drop(&t->part, white + open);
        t->place = THINKING;
    } else if (calls_are_read(t) && t->model->tools == TOOLS_HERMES &&
               !memcmp(rest, call_open, n < mark ? n : mark)) {
        if (n < mark) return false;
        buffer_drop(&t->part, white);
        t->place = TEXT;
    } else if (calls_are_read(t) && t->model->tools == TOOLS_LLAMA && *rest == '{') {
        buffer_drop(&t->part, white);
        t->place = CALLING;
    } else {
        t->place = TEXT;
    }
    return true;
}

static bool in_text(struct text *t) {
    if (!calls_are_read(t) || t->model->tools != TOOLS_HERMES) {
        give(t, PIECE_TEXT, t->part.n);
        return false;
    }
    if (!until(t, call_open, PIECE_TEXT)) return false;
    t->place = CALLING;
    return true;
}

/* White space is dropped; then text goes on, or another call. A ';' parts calls of Llama's. */
static bool after(struct text *t) {
    size_t white = spaces(&t->part);
    bool llama = t->place == AFTER_CALL && t->model->tools == TOOLS_LLAMA;
    if (llama && white < t->part.n && t->part.data[white] == ';') white++;
    buffer_drop(&t->part, white);
    if (!t->part.n) return false;
    t->place = t->place == AFTER_THINKING || llama ? BEGINNING : TEXT;
    return true;
}

static void split(struct text *t) {
    bool again = true;
    while (again && t->part.n) {
        switch (t->place) {
        case BEGINNING:
            again = at_beginning(t);
            break;
        case THINKING:
            again = until(t, think_close, PIECE_REASONING);
            if (again) t->place = AFTER_THINKING;
            break;
        case AFTER_THINKING:
        case AFTER_CALL:
            again = after(t);
            break;
        case TEXT:
            again = in_text(t);
            break;
        case CALLING:
            again = in_call(t);
            break;
        }
    }
}

static void split_end(struct text *t) {
    split(t);
    if (t->place == CALLING) {
        for (size_t i = 0; i < t->part.n; i++)
            call_byte(&t->call, t->part.data[i], t->take, t->user);
        call_flush(&t->call, t->take, t->user);
        buffer_drop(&t->part, t->part.n);
        end_call(t, false);
    }
    bool drop = t->place == AFTER_CALL || t->place == AFTER_THINKING;
    give(t, t->place == THINKING ? PIECE_REASONING : PIECE_TEXT, drop ? 0 : t->part.n);
}

static void pass_on(struct text *t, size_t bytes) {
    buffer_add(&t->part, t->held.data, bytes);
    buffer_drop(&t->held, bytes);
    split(t);
}

/* ---- stop strings ---- */

/* True: one was there; what is before it was passed on. */
static bool stopped(struct text *t) {
    size_t first = t->held.n, hold = 0;
    for (int i = 0; i < t->request->nstops; i++) {
        const char *at = find(&t->held, t->request->stops[i]);
        size_t n = begun(&t->held, t->request->stops[i]);
        if (at && (size_t)(at - t->held.data) < first) first = (size_t)(at - t->held.data);
        if (n > hold) hold = n;
    }
    bool found = first < t->held.n;
    if (found) {
        pass_on(t, first);
        buffer_drop(&t->held, t->held.n);
    } else if (t->held.n > hold) {
        pass_on(t, t->held.n - hold);
    }
    return found;
}

static void add(struct text *t, const char *text, size_t bytes) {
    if (t->over || !bytes) return;
    buffer_add(&t->held, text, bytes);
    if (t->held.failed || t->part.failed) t->failed = true;
    if (t->failed || stopped(t)) t->over = true;
}

/* ---- tokens ---- */

struct text *text_make(const struct api_model *m, const struct request *r, const struct ids *prompt,
                       piece_taker *take, void *user) {
    struct text *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (struct text){.model = m, .request = r, .take = take, .user = user};
    t->place = r->thinking ? THINKING : r->reasoning || calls_are_read(t) ? BEGINNING : TEXT;
    t->decoder = lm_decoder_new(m->tokenizer, r->specials ? LM_DECODER_SPECIALS : 0);
    const char *text;
    size_t bytes;
    /* How a token is written may hang on the one before it. */
    bool ok = t->decoder != NULL;
    for (size_t i = prompt->n > 8 ? prompt->n - 8 : 0; ok && i < prompt->n; i++)
        ok = lm_decoder_push(t->decoder, prompt->v[i], &text, &bytes);
    if (ok) return t;
    text_free(t);
    return NULL;
}

void text_free(struct text *t) {
    if (!t) return;
    lm_decoder_free(t->decoder);
    buffer_free(&t->held);
    buffer_free(&t->part);
    call_free(&t->call);
    free(t);
}

bool text_push(struct text *t, int32_t id) {
    const char *text;
    size_t bytes;
    if (t->over) return false;
    if (lm_decoder_push(t->decoder, id, &text, &bytes))
        add(t, text, bytes);
    else
        t->failed = t->over = true;
    return !t->over;
}

void text_finish(struct text *t) {
    const char *text;
    size_t bytes;
    if (t->failed) return;
    if (!t->over && lm_decoder_flush(t->decoder, &text, &bytes)) add(t, text, bytes);
    if (!t->over) pass_on(t, t->held.n);
    t->over = true;
    split_end(t);
}

bool text_thinks(const struct text *t) {
    return t->place == THINKING;
}

bool text_failed(const struct text *t) {
    return t->failed;
}
