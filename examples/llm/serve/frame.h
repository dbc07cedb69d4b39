/* frame.h - where a request ends, as RFC 9112 says, and nothing that two readers could read in two
 * ways.
 *
 * The bytes of a connection are looked at before the library sees them: what it would read
 * otherwise than a proxy in front of it (a bare line feed, two lengths, a space before a colon)
 * must not get there, or what one takes for a body the other takes for a request. */
#ifndef LLM_FRAME_H
#define LLM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_NAME = 24, FRAME_VALUE = 32 };

struct frame {
    int place;  /* enum place of frame.c */
    int after;  /* the place behind the line feed that must come */
    int status; /* 0: all is right; else what the request is refused with, for good */
    const char *why;
    char name[FRAME_NAME], value[FRAME_VALUE]; /* the beginnings of the field that is read */
    size_t nname, nvalue;
    int version, hosts, lengths, codings;
    uint64_t length, left; /* of the body; of it or of a chunk, still to come */
    int digits;            /* of a chunk's size */
    bool begun;            /* bytes of a request came, and it is not whole */
};

/* Looks at N bytes. Returns how many of them belong to requests that are right so far: N, or where
 * STATUS was set the end of the last whole one, which may be 0. */
size_t frame_take(struct frame *, const char *bytes, size_t n);

#endif
