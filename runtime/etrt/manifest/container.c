/* Formats of files of code, and how each carries the frame of the manifest that etrt_abi.h
 * describes. A format more is a row in `formats`. */
#include "runtime/etrt/manifest/container.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/manifest/elf_file.h"
#include "runtime/etrt_abi.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = sizeof ETRT_MANIFEST_MAGIC - 1 };

/* ---- frames ---- */

static bool hex8(const char *p, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 8; i++) {
        const char *digits = "0123456789abcdef", *d = p[i] ? strchr(digits, p[i]) : NULL;
        if (!d) return false;
        *out = *out << 4 | (uint32_t)(d - digits);
    }
    return true;
}

/* Is there a frame at P, of which BYTES are readable? */
static bool frame_at(const char *p, size_t bytes, const char **out_text, size_t *out_bytes) {
    uint32_t length, sum;
    if (bytes < ETRT_MANIFEST_HEAD || memcmp(p, ETRT_MANIFEST_MAGIC, MAGIC_BYTES) != 0)
        return false;
    const char *numbers = p + MAGIC_BYTES;
    if (!hex8(numbers, &length) || numbers[8] != ' ' || !hex8(numbers + 9, &sum) ||
        numbers[17] != '\n' || length > bytes - ETRT_MANIFEST_HEAD)
        return false;
    *out_text = p + ETRT_MANIFEST_HEAD;
    *out_bytes = length;
    return etrt_manifest_sum(*out_text, length) == sum;
}

/* ---- formats ---- */

/* What a format's function looks at and finds. */
struct search {
    const char *file;
    size_t bytes;
    const char *text; /* NULL: nothing found */
    size_t text_bytes;
    char *owned;
};

static bool is_elf(const struct search *s) {
    return s->bytes >= 4 && memcmp(s->file, "\177ELF", 4) == 0;
}

/* The whole file is looked at, so that one that was cut off is refused here. */
static etrt_status search_elf(struct search *s) {
    const char *section;
    size_t bytes;
    etrt_status st = etrt_elf_section(s->file, s->bytes, ETRT_MANIFEST_SECTION, &section, &bytes);
    if (st != ETRT_OK || !section) return st;
    if (frame_at(section, bytes, &s->text, &s->text_bytes)) return ETRT_OK;
    return etrt_fail(ETRT_FORMAT, "section %s holds no intact manifest", ETRT_MANIFEST_SECTION);
}

static const char array_name[] = ETRT_MANIFEST_ARRAY;

static const char *find(const char *from, const char *end, const char *what, size_t bytes) {
    return from < end ? memmem(from, (size_t)(end - from), what, bytes) : NULL;
}

static bool is_text(const struct search *s) {
    return !memchr(s->file, 0, s->bytes) &&
           find(s->file, s->file + s->bytes, array_name, sizeof array_name - 1);
}

/* Decimal numbers from 0 to 255 with commas between them, up to a closing brace. */
static bool read_numbers(const char *p, const char *end, char *out, size_t *out_bytes) {
    for (*out_bytes = 0; p < end; p++) {
        unsigned value = 0, digits = 0;
        while (p < end && strchr(" \t\r\n", *p))
            p++;
        for (; p < end && *p >= '0' && *p <= '9' && digits < 3; p++, digits++)
            value = value * 10 + (unsigned)(*p - '0');
        while (p < end && strchr(" \t\r\n", *p))
            p++;
        if (p == end || !digits || value > 255) return false;
        out[(*out_bytes)++] = (char)value;
        if (*p == '}') return true;
        if (*p != ',') return false;
    }
    return false;
}

/* As in PTX: .b8 etcc_manifest[3] = {69, 84, 67}; */
static etrt_status search_text(struct search *s) {
    const char *end = s->file + s->bytes;
    const char *name = find(s->file, end, array_name, sizeof array_name - 1);
    const char *open = find(name, end, "{", 1);
    size_t bytes;
    if (open && (s->owned = malloc((size_t)(end - open))) == NULL) return etrt_no_memory();
    if (open && read_numbers(open + 1, end, s->owned, &bytes) &&
        frame_at(s->owned, bytes, &s->text, &s->text_bytes))
        return ETRT_OK;
    return etrt_fail(ETRT_FORMAT, "array %s holds no intact manifest", array_name);
}

static bool is_anything(const struct search *s) {
    return s->bytes > 0;
}

/* Sums take time, so a file is not trusted to hold many beginnings that lead nowhere. */
static etrt_status search_bytes(struct search *s) {
    enum { MAX_TRIES = 16 };
    const char *p = s->file, *end = s->file + s->bytes;
    for (int i = 0; i < MAX_TRIES && (p = find(p, end, ETRT_MANIFEST_MAGIC, MAGIC_BYTES)); i++, p++)
        if (frame_at(p, (size_t)(end - p), &s->text, &s->text_bytes)) return ETRT_OK;
    s->text = NULL;
    return ETRT_OK;
}

/* Each that recognises the file is asked in turn, until one finds the manifest or fails. */
static const struct {
    bool (*recognises)(const struct search *);
    etrt_status (*search)(struct search *);
} formats[] = {{is_elf, search_elf}, {is_text, search_text}, {is_anything, search_bytes}};

etrt_status etrt_container_manifest(const void *file, size_t bytes, const char **out_text,
                                    size_t *out_bytes, char **out_owned) {
    struct search s = {.file = file, .bytes = bytes};
    etrt_status st = ETRT_OK;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && st == ETRT_OK && !s.text; i++)
        if (formats[i].recognises(&s)) st = formats[i].search(&s);
    if (st == ETRT_OK && !s.text)
        st = etrt_fail(ETRT_FORMAT, "holds no manifest: not a file of code of etcc");
    *out_text = s.text;
    *out_bytes = s.text_bytes;
    *out_owned = s.owned;
    return st;
}
