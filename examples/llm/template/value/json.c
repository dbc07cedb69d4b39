/* json.c - JSON to values, and values to JSON as Python's json.dumps writes them. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static jt_value from_array(jt_vm *vm, const json_t *j) {
    size_t n = json_array_size(j);
    jt_list *l = jt_list_new(vm, n);
    for (size_t i = 0; i < n; i++)
        jt_list_add(vm, l, jt_from_json(vm, json_array_get(j, i)));
    return jt_of_list(l);
}

static jt_value from_object(jt_vm *vm, const json_t *j) {
    jt_dict *d = jt_dict_new(vm);
    for (void *it = json_object_iter((json_t *)j); it;
         it = json_object_iter_next((json_t *)j, it)) {
        const char *key = json_object_iter_key(it);
        jt_dict_set(vm, d, jt_text(vm, key, json_object_iter_key_len(it)),
                    jt_from_json(vm, json_object_iter_value(it)));
    }
    return jt_of_dict(d);
}

/* As json_text.h of base has integers beyond 64 bits. */
static const char *large_of(const json_t *j) {
    static const char mark[] = "\x7f integer ";
    const char *text = json_string_value(j);
    if (!text || strncmp(text, mark, sizeof mark - 1)) return NULL;
    text += sizeof mark - 1;
    return *text && text[strspn(text, "-0123456789")] == 0 ? text : NULL;
}

static jt_str *digits_of(jt_vm *vm, const jt_str *s) {
    jt_str *own = jt_alloc_array(vm, 1, sizeof *own);
    *own = *s;
    own->digits = true;
    return own;
}

jt_value jt_from_json(jt_vm *vm, const json_t *j) {
    jt_value v = jt_none();
    const char *large = large_of(j);
    jt_enter(vm);
    switch (j ? json_typeof(j) : JSON_NULL) {
    case JSON_OBJECT:
        v = from_object(vm, j);
        break;
    case JSON_ARRAY:
        v = from_array(vm, j);
        break;
    case JSON_STRING:
        v = large ? jt_text(vm, large, strlen(large))
                  : jt_text(vm, json_string_value(j), json_string_length(j));
        if (large) v.s = digits_of(vm, v.s);
        break;
    case JSON_INTEGER:
        v = jt_int(json_integer_value(j));
        break;
    case JSON_REAL:
        v = jt_float(json_real_value(j));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        v = jt_bool(json_is_true(j));
        break;
    case JSON_NULL:
        break;
    }
    jt_leave(vm);
    return v;
}

static void put_string(jt_vm *vm, jt_buf *b, const jt_str *s, bool ascii) {
    char text[24];
    jt_put(vm, b, "\"", 1);
    for (size_t i = 0, size; i < s->n; i += size) {
        static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
        int32_t c = jt_utf8_read(s->p + i, &size);
        const char *known = c && c < 0x80 ? strchr(from, c) : NULL;
        if (known)
            snprintf(text, sizeof text, "\\%c", to[known - from]);
        else if (c < 0x20 || (ascii && c >= 0x7f && c < 0x10000))
            snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
        else if (ascii && c >= 0x10000)
            snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((unsigned)(c - 0x10000) >> 10),
                     0xdc00 + ((unsigned)(c - 0x10000) & 0x3ff));
        else
            text[0] = 0;
        if (*text)
            jt_put_word(vm, b, text);
        else
            jt_put(vm, b, s->p + i, size);
    }
    jt_put(vm, b, "\"", 1);
}

static void put_number(jt_vm *vm, jt_buf *b, double f) {
    if (isnan(f))
        jt_put_word(vm, b, "NaN");
    else if (isinf(f))
        jt_put_word(vm, b, f > 0 ? "Infinity" : "-Infinity");
    else
        jt_put_float(vm, b, f);
}

static void put_newline(jt_vm *vm, jt_buf *b, const jt_json_form *form, int level) {
    if (!form->indent) return;
    jt_put(vm, b, "\n", 1);
    for (int i = 0; i < level; i++)
        jt_put(vm, b, form->indent->p, form->indent->n);
}

static void put_key(jt_vm *vm, jt_buf *b, jt_value key, const jt_json_form *form) {
    if (key.kind == JT_STR) {
        put_string(vm, b, key.s, form->ascii);
        return;
    }
    if (key.kind > JT_FLOAT || key.kind < JT_NONE)
        jt_fail(vm, "keys must be str, int, float, bool or None, not %s", jt_type_name(key));
    jt_put(vm, b, "\"", 1);
    jt_put_json(vm, b, key, form, 0);
    jt_put(vm, b, "\"", 1);
}

static void put_object(jt_vm *vm, jt_buf *b, const jt_dict *d, const jt_json_form *form,
                       int level) {
    const jt_entry *entries = d->at;
    if (form->sort && d->n) {
        jt_value *keys = jt_alloc_array(vm, d->n, sizeof *keys);
        jt_value *numbers = jt_alloc_array(vm, d->n, sizeof *numbers);
        jt_entry *sorted = jt_alloc_array(vm, d->n, sizeof *sorted);
        for (size_t i = 0; i < d->n; i++) {
            keys[i] = d->at[i].key;
            numbers[i] = jt_int((int64_t)i);
        }
        jt_sort(vm, numbers, keys, d->n, false);
        for (size_t i = 0; i < d->n; i++)
            sorted[i] = d->at[numbers[i].i];
        entries = sorted;
    }
    jt_put(vm, b, "{", 1);
    for (size_t i = 0; i < d->n; i++) {
        if (i) jt_put(vm, b, form->item->p, form->item->n);
        put_newline(vm, b, form, level + 1);
        put_key(vm, b, entries[i].key, form);
        jt_put(vm, b, form->key->p, form->key->n);
        jt_put_json(vm, b, entries[i].value, form, level + 1);
    }
    if (d->n) put_newline(vm, b, form, level);
    jt_put(vm, b, "}", 1);
}

static void put_array(jt_vm *vm, jt_buf *b, const jt_list *l, const jt_json_form *form, int level) {
    jt_put(vm, b, "[", 1);
    for (size_t i = 0; i < l->n; i++) {
        if (i) jt_put(vm, b, form->item->p, form->item->n);
        put_newline(vm, b, form, level + 1);
        jt_put_json(vm, b, l->at[i], form, level + 1);
    }
    if (l->n) put_newline(vm, b, form, level);
    jt_put(vm, b, "]", 1);
}

void jt_put_json(jt_vm *vm, jt_buf *b, jt_value v, const jt_json_form *form, int level) {
    jt_enter(vm);
    jt_step(vm, 1);
    switch (v.kind) {
    case JT_NONE:
        jt_put_word(vm, b, "null");
        break;
    case JT_BOOL:
        jt_put_word(vm, b, v.b ? "true" : "false");
        break;
    case JT_INT:
        jt_put_repr(vm, b, v);
        break;
    case JT_FLOAT:
        put_number(vm, b, v.f);
        break;
    case JT_STR:
        if (v.s->digits)
            jt_put(vm, b, v.s->p, v.s->n);
        else
            put_string(vm, b, v.s, form->ascii);
        break;
    case JT_LIST:
    case JT_TUPLE:
        put_array(vm, b, v.l, form, level);
        break;
    case JT_DICT:
        put_object(vm, b, v.d, form, level);
        break;
    default:
        jt_fail(vm, "Object of type %s is not JSON serializable", jt_type_name(v));
    }
    jt_leave(vm);
}
