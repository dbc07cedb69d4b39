/* utf8.h - characters of UTF-8 that is known to be valid, and what Python thinks of them. */
#ifndef LLM_TEMPLATE_UTF8_H
#define LLM_TEMPLATE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins with C. */
static inline size_t jt_utf8_size(char c) {
    unsigned char u = (unsigned char)c;
    return u < 0x80 ? 1 : u < 0xe0 ? 2 : u < 0xf0 ? 3 : 4;
}
/* The character at P, of *SIZE bytes. */
int32_t jt_utf8_read(const char *p, size_t *size);
/* The one that ends before END; there is one. */
int32_t jt_utf8_before(const char *begin, const char *end, size_t *size);
size_t jt_utf8_write(int32_t c, char out[4]);
size_t jt_utf8_count(const char *p, size_t n);
/* Bytes of the first CHARS characters of the N bytes at P. */
size_t jt_utf8_offset(const char *p, size_t n, size_t chars);
bool jt_utf8_valid(const char *p, size_t n);

bool jt_is_space(int32_t);     /* str.isspace, and \s of a regular expression */
bool jt_is_line_end(int32_t);  /* where str.splitlines cuts */
bool jt_is_printable(int32_t); /* repr() leaves it as it is */
bool jt_is_word(int32_t);      /* \w */
bool jt_is_alpha(int32_t);
bool jt_is_digit(int32_t);
bool jt_is_upper(int32_t);
bool jt_is_lower(int32_t);

#endif
