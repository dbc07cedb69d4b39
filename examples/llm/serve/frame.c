#include "examples/llm/serve/frame.h"
#include <string.h>
#include <strings.h>

enum place {
    START, /* also of a connection: all zero */
    METHOD,
    TARGET,
    VERSION,
    LINE, /* the first byte of a field, or of the end of all */
    NAME,
    BLANK, /* before a value */
    VALUE,
    FEED, /* a line feed must come */
    BODY,
    SIZE, /* of a chunk */
    EXTENSION,
    CHUNK,
    CHUNK_END,
    TRAILER, /* as LINE, behind the last chunk */
    TRAILER_NAME,
    TRAILER_VALUE,
};

static bool refuse(struct frame *f, int status, const char *why) {
    f->status = status;
    f->why = why;
    return false;
}

static bool is_token(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* What may stand in a value: visible characters, spaces, and what is beyond ASCII. */
static bool is_text(unsigned char c) {
    return c == '\t' || (c >= ' ' && c != 127);
}

static int hex(unsigned char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- fields ---- */

static bool is_named(const struct frame *f, const char *name) {
    return f->nname == strlen(name) && !strncasecmp(f->name, name, f->nname);
}

/* Only digits: other servers take a sign or a list for a number, or do not. */
static bool read_length(struct frame *f) {
    if (f->lengths++) return refuse(f, 400, "more than one Content-Length");
    if (!f->nvalue || f->nvalue >= FRAME_VALUE) return refuse(f, 400, "a wrong Content-Length");
    for (size_t i = 0; i < f->nvalue; i++) {
        if (f->value[i] < '0' || f->value[i] > '9') return refuse(f, 400, "a wrong Content-Length");
        if (f->length > UINT64_MAX / 100) return refuse(f, 413, "the body is too large");
        f->length = f->length * 10 + (uint64_t)(f->value[i] - '0');
    }
    return true;
}

static bool read_coding(struct frame *f) {
    bool chunked = f->nvalue == 7 && !strncasecmp(f->value, "chunked", 7);
    if (f->codings++) return refuse(f, 400, "more than one Transfer-Encoding");
    return chunked || refuse(f, 501, "a Transfer-Encoding other than chunked");
}

static bool end_field(struct frame *f) {
    if (is_named(f, "content-length")) return read_length(f);
    if (is_named(f, "transfer-encoding")) return read_coding(f);
    if (is_named(f, "host") && f->hosts++) return refuse(f, 400, "more than one Host");
    return true;
}

static bool end_head(struct frame *f) {
    if (f->version && !f->hosts) return refuse(f, 400, "no Host");
    if (f->codings && f->lengths) return refuse(f, 400, "Content-Length with Transfer-Encoding");
    if (f->codings && !f->version) return refuse(f, 400, "a Transfer-Encoding in HTTP/1.0");
    f->left = f->length;
    f->digits = 0;
    f->after = f->codings ? SIZE : f->left ? BODY : START;
    f->place = FEED;
    return true;
}

/* ---- bytes ---- */

static bool end_line(struct frame *f, int after) {
    f->place = FEED;
    f->after = after;
    return true;
}

static bool in_request_line(struct frame *f, unsigned char c) {
    static const char version[] = "HTTP/1.";
    switch (f->place) {
    case START:
        if (c == '\r') return end_line(f, START); /* an empty line before a request */
        *f = (struct frame){.place = METHOD, .begun = true};
        return is_token(c) || refuse(f, 400, "a wrong method");
    case METHOD:
        if (c == ' ') f->place = TARGET;
        return c == ' ' || is_token(c) || refuse(f, 400, "a wrong method");
    case TARGET:
        /* NNAME: is there anything? 2 and 3: a "%" came, and a "0" behind it. */
        if (c == ' ' && f->nname) {
            f->place = VERSION;
            f->nname = 0;
            return true;
        }
        /* Decoded it would end a path for us that goes on for a proxy. */
        if (c == '0' && f->nname == 3) return refuse(f, 400, "a wrong target");
        f->nname = c == '%' ? 2 : c == '0' && f->nname == 2 ? 3 : 1;
        return (c > ' ' && c < 127) || refuse(f, 400, "a wrong target");
    default:
        if (f->nname == sizeof version)
            return c == '\r' ? end_line(f, LINE) : refuse(f, 400, "a wrong line");
        if (f->nname == sizeof version - 1) {
            f->nname++;
            f->version = c - '0';
            return c == '0' || c == '1' || refuse(f, 505, "a version other than 1.0 and 1.1");
        }
        return c == (unsigned char)version[f->nname++] || refuse(f, 400, "a wrong version");
    }
}

static void keep(struct frame *f, unsigned char c) {
    if (f->nvalue < FRAME_VALUE) f->value[f->nvalue] = (char)c;
    f->nvalue++;
}

static bool in_fields(struct frame *f, unsigned char c) {
    bool trailer = f->place == TRAILER || f->place == TRAILER_NAME || f->place == TRAILER_VALUE;
    switch (f->place) {
    case LINE:
    case TRAILER:
        if (c == '\r') return trailer ? end_line(f, START) : end_head(f);
        f->nname = f->nvalue = 0;
        f->place = trailer ? TRAILER_NAME : NAME;
        /* A line that begins with a space would go on with the one before. */
        if (!is_token(c)) return refuse(f, 400, "a wrong field name");
        f->name[f->nname++] = (char)c;
        return true;
    case NAME:
    case TRAILER_NAME:
        if (c == ':') {
            f->place = trailer ? TRAILER_VALUE : BLANK;
            return true;
        }
        if (f->nname < FRAME_NAME) f->name[f->nname] = (char)c;
        f->nname++;
        return is_token(c) || refuse(f, 400, "a wrong field name");
    case BLANK:
        if (c == ' ' || c == '\t') return true;
        f->place = VALUE;
        /* fall through */
    default:
        if (c == '\r') return (trailer || end_field(f)) && end_line(f, trailer ? TRAILER : LINE);
        keep(f, c);
        return is_text(c) || refuse(f, 400, "a control character in a field");
    }
}

static bool in_chunks(struct frame *f, unsigned char c) {
    switch (f->place) {
    case SIZE:
        if (hex(c) >= 0) {
            f->left = (f->digits++ ? f->left << 4 : 0) | (uint64_t)hex(c);
            return f->digits < 16 || refuse(f, 413, "the body is too large");
        }
        if (!f->digits || (c != '\r' && c != ';')) return refuse(f, 400, "a wrong chunk");
        if (c == ';') {
            f->place = EXTENSION;
            return true;
        }
        return end_line(f, f->left ? CHUNK : TRAILER);
    case EXTENSION:
        if (c == '\r') return end_line(f, f->left ? CHUNK : TRAILER);
        return is_text(c) || refuse(f, 400, "a wrong chunk");
    default:
        f->digits = 0;
        return c == '\r' ? end_line(f, SIZE) : refuse(f, 400, "a wrong chunk");
    }
}

static bool take(struct frame *f, unsigned char c) {
    switch (f->place) {
    case START:
    case METHOD:
    case TARGET:
    case VERSION:
        return in_request_line(f, c);
    case FEED:
        f->place = f->after;
        return c == '\n' || refuse(f, 400, "a carriage return without a line feed");
    case SIZE:
    case EXTENSION:
    case CHUNK_END:
        return in_chunks(f, c);
    default:
        return in_fields(f, c);
    }
}

size_t frame_take(struct frame *f, const char *bytes, size_t n) {
    size_t whole = 0;
    for (size_t i = 0; i < n && !f->status;) {
        if (f->place == BODY || f->place == CHUNK) {
            size_t some = f->left < n - i ? (size_t)f->left : n - i;
            i += some;
            f->left -= some;
            if (!f->left) f->place = f->place == BODY ? START : CHUNK_END;
        } else if (!take(f, (unsigned char)bytes[i++])) {
            return whole;
        }
        if (f->place == START) {
            f->begun = false;
            whole = i;
        }
    }
    return f->status ? 0 : n;
}
