#include "examples/llm/api/text.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/base/buffer.h"
#include <stdlib.h>
#include <string.h>

/* Where the splitter is. */
enum place {
    BEGINNING, /* nothing but white space came: a call or reasoning may begin */
    THINKING,
    AFTER_THINKING, /* white space is dropped */
    TEXT,
    CALLING,    /* from the mark of a call on; it is told once it is whole */
    FORCED,     /* a call that a grammar holds to its form: told as it comes */
    AFTER_CALL, /* white space between calls is dropped */
    OVER,       /* behind the call that was forced: all is dropped */
    HEADER,     /* gpt-oss: up to the mark of a message */
    MESSAGE,    /* in one, of the kind in MESSAGE_KIND */
};

struct text {
    const struct api_model *model;
    const struct request *request;
    const struct tool_format *format; /* of calls; NULL: there are none */
    const struct thought_format *thoughts;
    piece_taker *take;
    void *user;
    struct lm_decoder *decoder;
    struct buffer held; /* may be the beginning of a stop string */
    struct buffer part; /* may be the beginning of a mark */
    enum place place;
    enum piece message_kind; /* PIECE_CALL: of a tool whose name is in CALL.NAME */
    struct call call;
    bool over, failed;
    bool enough;      /* the one call that was asked for is there */
    const char *stop; /* the stop string that was there */
};

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

/* Gives all before the first of N marks. Its number, and it stays; -1: more must come. */
static int until(struct text *t, const char *const *marks, int n, enum piece piece) {
    const char *first = NULL;
    size_t hold = 0;
    int which = -1;
    for (int i = 0; i < n && marks[i]; i++) {
        const char *at = find(&t->part, marks[i]);
        size_t held = begun(&t->part, marks[i]);
        if (held > hold) hold = held;
        if (!at || (first && at >= first)) continue;
        first = at;
        which = i;
    }
    give(t, piece, first ? (size_t)(first - t->part.data) : t->part.n - hold);
    return which;
}

/* B begins with WORD. *OUT_MORE: or may do so once more comes. */
static bool begins(const char *text, size_t n, const char *word, bool *out_more) {
    size_t bytes = strlen(word);
    if (memcmp(text, word, n < bytes ? n : bytes) != 0) return false;
    if (n >= bytes) return true;
    *out_more = true;
    return false;
}

/* ---- calls ---- */

static void take_call(void *user, const char *name, size_t bytes, const char *arguments, size_t n) {
    struct text *t = user;
    if (t->enough) return;
    t->take(t->user, PIECE_CALL, name, bytes);
    t->take(t->user, PIECE_ARGUMENTS, arguments, n);
    /* One call was asked for, and is there. */
    if (!t->request->parallel) t->over = t->enough = true;
}

static bool in_call(struct text *t, bool last) {
    struct writing w = {t->part.data, t->part.n, last, t->request->tools, take_call, t};
    ssize_t used = t->format->read(&w);
    if (!used) return false;
    if (used > 0) {
        buffer_drop(&t->part, (size_t)used);
        t->place = AFTER_CALL;
    } else {
        give(t, PIECE_TEXT, (size_t)-used);
        t->place = TEXT;
    }
    return true;
}

/* The bytes of a call that the grammar holds to its form. */
static bool in_forced(struct text *t) {
    size_t used = 0;
    for (; used < t->part.n && !t->call.over; used++)
        call_byte(&t->call, t->part.data[used], t->take, t->user);
    call_flush(&t->call, t->take, t->user);
    buffer_drop(&t->part, used);
    if (t->call.raw.failed || t->call.name.failed || t->call.arguments.failed) t->failed = true;
    if (!t->call.over) return false;
    call_free(&t->call);
    t->place = OVER;
    return true;
}

/* White space came, and what is behind it. False: more must come to tell what that is. */
static bool begin_call(struct text *t, size_t white, bool *out_more) {
    const char *rest = t->part.data + white;
    size_t n = t->part.n - white;
    bool more = false, open = false;
    for (int i = 0; i < TOOLS_MARKS && t->format->opens[i]; i++)
        open = open || begins(rest, n, t->format->opens[i], &more);
    bool bare = *rest == '{' && (t->format->bare || t->request->forced);
    *out_more = more && !bare;
    if (!open && !bare) return false;
    buffer_drop(&t->part, white);
    t->place = CALLING;
    if (!t->request->forced) return true;
    const char *brace = memchr(t->part.data, '{', t->part.n);
    *out_more = !brace;
    t->place = brace ? FORCED : BEGINNING;
    if (brace) buffer_drop(&t->part, (size_t)(brace - t->part.data));
    return brace != NULL;
}

/* Only white space came so far. False: more must come to tell what this is. */
static bool at_beginning(struct text *t) {
    size_t white = spaces(&t->part), n = t->part.n - white;
    bool more = false;
    if (!n) return false;
    if (t->request->reasoning && begins(t->part.data + white, n, t->thoughts->open, &more)) {
        buffer_drop(&t->part, white + strlen(t->thoughts->open));
        t->place = THINKING;
        return true;
    }
    if (more) return false;
    if (t->format && begin_call(t, white, &more)) return true;
    if (more) return false;
    t->place = TEXT;
    return true;
}

static bool in_text(struct text *t) {
    if (!t->format || until(t, t->format->opens, TOOLS_MARKS, PIECE_TEXT) >= 0) {
        if (t->format) t->place = CALLING;
        if (!t->format) give(t, PIECE_TEXT, t->part.n);
        return t->format != NULL;
    }
    return false;
}

static bool in_thoughts(struct text *t) {
    if (until(t, &t->thoughts->close, 1, PIECE_REASONING) < 0) return false;
    buffer_drop(&t->part, strlen(t->thoughts->close));
    t->place = AFTER_THINKING;
    return true;
}

/* White space is dropped; then text goes on, or another call. A ';' parts calls that are bare. */
static bool after(struct text *t) {
    bool bare = t->format && t->format->bare && t->place == AFTER_CALL;
    size_t white = spaces(&t->part);
    if (bare && white < t->part.n && t->part.data[white] == ';') white++;
    buffer_drop(&t->part, white);
    if (!t->part.n || spaces(&t->part)) return t->part.n > 0;
    /* Behind a bare call there may be one more. */
    bool again = t->place == AFTER_THINKING || (t->format && t->format->bare);
    t->place = again ? BEGINNING : TEXT;
    return true;
}

/* ---- gpt-oss: messages of channels ---- */

static const char *const message_ends[] = {"<|end|>",   "<|call|>",    "<|return|>",
                                           "<|start|>", "<|channel|>", NULL};

static bool in_header(struct text *t) {
    static const char mark[] = "<|message|>", to[] = "to=functions.";
    const char *at = find(&t->part, mark);
    if (!at) return false;
    const char *end = at,
               *name = memmem(t->part.data, (size_t)(end - t->part.data), to, sizeof to - 1);
    t->message_kind = PIECE_TEXT;
    if (memmem(t->part.data, (size_t)(end - t->part.data), "analysis", 8))
        t->message_kind = PIECE_REASONING;
    t->call.name.n = 0;
    if (name && t->request->tools) {
        name += sizeof to - 1;
        size_t n = 0;
        while (name + n < end && name[n] != ' ' && name[n] != '<')
            n++;
        buffer_add(&t->call.name, name, n);
        t->message_kind = PIECE_CALL;
    }
    buffer_drop(&t->part, (size_t)(end - t->part.data) + sizeof mark - 1);
    t->place = MESSAGE;
    return true;
}

static void end_message(struct text *t, size_t n) {
    struct writing w = {t->part.data, n, true, t->request->tools, take_call, t};
    if (t->message_kind == PIECE_CALL &&
        tools_named(&w, t->call.name.data, t->call.name.n, t->part.data, n))
        buffer_drop(&t->part, n);
    else if (t->message_kind == PIECE_REASONING && !t->request->reasoning)
        buffer_drop(&t->part, n);
    else
        give(t, t->message_kind == PIECE_CALL ? PIECE_TEXT : t->message_kind, n);
}

static bool in_message(struct text *t, bool last) {
    bool held = t->message_kind == PIECE_CALL ||
                (t->message_kind == PIECE_REASONING && !t->request->reasoning);
    const char *at = NULL;
    int which = -1;
    if (!held) which = until(t, message_ends, 5, t->message_kind);
    for (int i = 0; held && message_ends[i]; i++) {
        const char *one = find(&t->part, message_ends[i]);
        if (!one || (at && one >= at)) continue;
        at = one;
        which = i;
    }
    if (which < 0 && !last) return false;
    end_message(t, which < 0 ? t->part.n : at ? (size_t)(at - t->part.data) : 0);
    if (which >= 0) buffer_drop(&t->part, strlen(message_ends[which]));
    t->place = HEADER;
    return which >= 0;
}

static bool by_messages(const struct text *t) {
    return t->model->tools && !t->model->tools->read;
}

/* ---- all of it ---- */

static bool split_once(struct text *t) {
    switch (t->place) {
    case BEGINNING:
        return at_beginning(t);
    case THINKING:
        return in_thoughts(t);
    case AFTER_THINKING:
    case AFTER_CALL:
        return after(t);
    case TEXT:
        return in_text(t);
    case CALLING:
        return in_call(t, false);
    case FORCED:
        return in_forced(t);
    case HEADER:
        return in_header(t);
    case MESSAGE:
        return in_message(t, false);
    case OVER:
        buffer_drop(&t->part, t->part.n);
        break;
    }
    return false;
}

static void split(struct text *t) {
    while (t->part.n && !t->enough && split_once(t)) {
    }
}

static void split_end(struct text *t) {
    split(t);
    while (t->part.n && t->place == CALLING && !t->enough && in_call(t, true))
        split(t);
    if (t->place == MESSAGE && t->part.n) in_message(t, true);
    bool drop = t->enough || t->place == AFTER_CALL || t->place == AFTER_THINKING ||
                t->place == OVER || t->place == FORCED || t->place == HEADER;
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
    const char *which = NULL;
    for (int i = 0; i < t->request->nstops; i++) {
        const char *at = find(&t->held, t->request->stops[i]);
        size_t n = begun(&t->held, t->request->stops[i]);
        if (at && (size_t)(at - t->held.data) < first) {
            first = (size_t)(at - t->held.data);
            which = t->request->stops[i];
        }
        if (n > hold) hold = n;
    }
    bool found = first < t->held.n;
    if (found) {
        t->stop = which;
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
    t->format = r->tools && m->tools && m->tools->read ? m->tools : NULL;
    t->thoughts = m->thoughts ? m->thoughts : thought_format(0);
    t->place = r->thinking ? THINKING : r->reasoning || t->format ? BEGINNING : TEXT;
    bool messages = by_messages(t) && r->dialect != DIALECT_COMPLETIONS && !r->grammar;
    if (messages) t->place = HEADER;
    bool specials = r->specials || messages || (t->format && t->format->specials && !r->grammar) ||
                    (r->reasoning && t->thoughts->open[0] != '<');
    t->decoder = lm_decoder_new(m->tokenizer, specials ? LM_DECODER_SPECIALS : 0);
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

const char *text_stop(const struct text *t) {
    return t ? t->stop : NULL;
}

bool text_failed(const struct text *t) {
    return t->failed;
}
