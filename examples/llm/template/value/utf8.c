#include "examples/llm/template/value/utf8.h"
#include <string.h>
#include <utf8proc.h>

int32_t jt_utf8_read(const char *p, size_t *size) {
    const unsigned char *u = (const unsigned char *)p;
    *size = jt_utf8_size(*p);
    switch (*size) {
    case 1:
        return u[0];
    case 2:
        return (u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3:
        return (u[0] & 0x0f) << 12 | (u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    default:
        return (u[0] & 0x07) << 18 | (u[1] & 0x3f) << 12 | (u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    }
}

int32_t jt_utf8_before(const char *begin, const char *end, size_t *size) {
    const char *p = end - 1;
    while (p > begin && ((unsigned char)*p & 0xc0) == 0x80)
        p--;
    return jt_utf8_read(p, size);
}

size_t jt_utf8_write(int32_t c, char out[4]) {
    return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
}

size_t jt_utf8_count(const char *p, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)p[i] & 0xc0) != 0x80;
    return count;
}

size_t jt_utf8_offset(const char *p, size_t n, size_t chars) {
    size_t i = 0;
    while (chars-- && i < n)
        i += jt_utf8_size(p[i]);
    return i;
}

bool jt_utf8_valid(const char *p, size_t n) {
    while (n) {
        utf8proc_int32_t c;
        utf8proc_ssize_t size =
            utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)(n < 4 ? n : 4), &c);
        if (size <= 0) return false;
        p += size;
        n -= (size_t)size;
    }
    return true;
}

bool jt_is_space(int32_t c) {
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool jt_is_line_end(int32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

bool jt_is_printable(int32_t c) {
    if (c < 0x7f) return c >= 0x20;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

bool jt_is_alpha(int32_t c) {
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return true;
    default:
        return false;
    }
}

bool jt_is_digit(int32_t c) {
    return utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

bool jt_is_word(int32_t c) {
    if (c < 0x80)
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return jt_is_alpha(c);
    }
}

bool jt_is_upper(int32_t c) {
    return utf8proc_category(c) == UTF8PROC_CATEGORY_LU;
}

bool jt_is_lower(int32_t c) {
    return utf8proc_category(c) == UTF8PROC_CATEGORY_LL;
}
