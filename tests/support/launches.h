/* launches.h - random tensors for models of libetrt, in programs that end with status 1 where a
 * call fails. */
#ifndef TESTS_SUPPORT_LAUNCHES_H
#define TESTS_SUPPORT_LAUNCHES_H

#include "runtime/etrt.h"
#include <stddef.h>
#include <stdint.h>

/* What messages begin with, and the seed of the numbers below. */
void launches_begin(const char *program, uint64_t seed);
/* 64 random bits. */
uint64_t draw(void);
/* Ends the program where STATUS is an error. DOING: what was tried, for the message. */
void need(etrt_status status, const char *doing);
/* BYTES of numbers from -1/2 to 1/2 of that type, or of 0 to 7 where it is i32. The caller frees
 * them. */
void *numbers(etrt_dtype type, int64_t bytes);
/* The bytes of a tensor of type TYPE at the dims that the session has now. */
size_t bytes_of(etrt_session *, const char *name, etrt_dtype type);
/* PREFIX.NAME in BUF, or NAME where PREFIX is NULL. */
const char *prefixed(const char *prefix, const char *name, char buf[256]);
/* The same random weights for MODEL and for KERNEL, where their names have the prefix, unless it is
 * NULL. */
void give_weights(etrt_model *model, etrt_model *kernel, const char *prefix);

#endif
