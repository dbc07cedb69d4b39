/* launch.json of a captured launch, as runtime/README.md describes it. Printed as it goes: a
 * printer of JSON values would be larger than all of this. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* A string. What is no UTF-8 would make the file unreadable, so its bytes become question marks. */
static void text(FILE *f, const char *s) {
    json_t *valid = json_string(s);
    putc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < ' ' || c == '"' || c == '\\')
            fprintf(f, "\\u%04x", c);
        else
            putc(valid || c < 0x80 ? c : '?', f);
    }
    putc('"', f);
    json_decref(valid);
}

static void name(FILE *f, const char *key, const char *value) {
    fprintf(f, "\"%s\": ", key);
    text(f, value);
    fputs(", ", f);
}

/* Element type and shape at the dims of the launch. */
static void type(FILE *f, const etrt_session *s, const struct etrt_tensor *t) {
    int64_t shape[ETRT_MAX_RANK], bytes;
    bool known = etrt_tensor_shape(t, s->dims, shape, &bytes) == ETRT_OK;
    fprintf(f, "\"dtype\": \"%s\", \"shape\": [", etrt_dtype_name(t->dtype));
    for (int d = 0; known && d < t->rank; d++)
        fprintf(f, "%s%" PRId64, d ? ", " : "", shape[d]);
    putc(']', f);
}

static bool is_there(const etrt_session *s, const struct etrt_temporary *t) {
    if (s->workgroups < t->least || s->workgroups > t->most) return false;
    return t->symbol < 0 || (s->dims[t->symbol] >= t->lo && s->dims[t->symbol] <= t->hi);
}

/* Those of the workspace in a launch of these dims on these workgroups. */
static void temporaries(FILE *f, const etrt_session *s) {
    const struct etrt_manifest *mf = &s->model->manifest;
    const char *between = "";
    fputs(", \"temporaries\": [", f);
    for (int i = 0; i < mf->ntemporaries; i++) {
        const struct etrt_temporary *t = &mf->temporaries[i];
        if (!is_there(s, t)) continue;
        fprintf(f, "%s\n   {", between);
        name(f, "name", t->tensor.name);
        fprintf(f, "\"offset\": %" PRIu64 ", ", t->offset);
        type(f, s, &t->tensor);
        putc('}', f);
        between = ",";
    }
    putc(']', f);
}

static void region(FILE *f, const etrt_session *s, const struct etrt_captured *c) {
    const struct etrt_region *r = &c->region;
    fputs("\n  {", f);
    name(f, "name", r->name);
    fprintf(f, "\"address\": \"0x%" PRIx64 "\", \"bytes\": %" PRIu64 ", \"memory\": \"%s\",\n   ",
            (uint64_t)(uintptr_t)r->address, r->bytes,
            r->place == ETRT_ON_DEVICE ? "device" : "host");
    name(f, "before", c->before);
    fputs("\"after\": ", f);
    if (*c->after)
        text(f, c->after);
    else
        fputs("null", f);
    fprintf(f, ", \"check\": [%" PRIu64 ", %" PRIu64 "]", r->check_lo, r->check_hi);
    if (r->address == s->workspace && r->bytes) temporaries(f, s);
    if (r->tensor) {
        fprintf(f, ", \"kind\": \"%s\", ", etrt_kind_name(r->tensor->kind));
        type(f, s, r->tensor);
    }
    putc('}', f);
}

/* Byte offsets of the device pointers in the kernarg segment. */
static void pointers(FILE *f, const etrt_session *s) {
    for (int i = 0; i < s->npointers; i++)
        fprintf(f, "%s%u", i ? ", " : "", s->pointers[i]);
}

static void device(FILE *f, const etrt_model *m) {
    const etrt_device *dev = m->device;
    fputs(" \"device\": {", f);
    name(f, "name", dev->name);
    name(f, "isa", *dev->isa ? dev->isa : m->manifest.target);
    fprintf(f, "\"emulated\": %s, \"cus\": %u, \"dies\": %u, \"realtime_hz\": %" PRIu64 "},\n",
            dev->emulated ? "true" : "false", dev->cus, dev->dies, dev->realtime_hz);
}

static void kernel(FILE *f, const etrt_session *s) {
    const etrt_model *m = s->model;
    const struct etrt_manifest *mf = &m->manifest;
    /* As integers, since how printf writes others is the program's locale's affair. */
    uint64_t nanoseconds = (uint64_t)(s->wait_limit * 1e9 + 0.5);
    fprintf(f,
            " \"code\": {\"file\": \"code.hsaco\", \"loaded\": [\"0x%" PRIx64 "\", \"0x%" PRIx64
            "\"]},\n \"kernel\": {",
            m->code.load_lo, m->code.load_hi);
    name(f, "symbol", mf->kernel);
    fprintf(f,
            "\"object\": \"0x%" PRIx64 "\", \"kernarg_bytes\": %u, \"group_bytes\": %u, "
            "\"private_bytes\": %u},\n \"grid\": [%" PRIu64
            ", 1, 1],\n \"workgroup\": [%u, 1, 1],\n"
            " \"wait_limit\": %" PRIu64 ".%09" PRIu64
            ",\n \"kernarg\": {\"file\": \"kernarg.bin\", \"address\": "
            "\"0x%" PRIx64 "\", \"bytes\": %u, \"pointers\": [",
            m->code.object, m->code.kernarg_bytes, mf->lds_bytes, m->code.private_bytes,
            (uint64_t)s->workgroups * mf->workgroup, mf->workgroup, nanoseconds / 1000000000,
            nanoseconds % 1000000000, (uint64_t)(uintptr_t)s->kernarg, mf->kernarg_bytes);
    pointers(f, s);
    fputs("]},\n", f);
}

static void launch(FILE *f, const etrt_session *s, const struct etrt_captured *c, size_t count,
                   etrt_status status, const char *message) {
    const struct etrt_manifest *mf = &s->model->manifest;
    fputs("{\"format\": \"etrt-launch\", \"version\": 1, ", f);
    name(f, "model", mf->model);
    name(f, "status", etrt_status_name(status));
    name(f, "message", message);
    fputs("\n \"dims\": {", f);
    for (int i = 0; i < mf->nsymbols; i++) {
        fputs(i ? ", " : "", f);
        text(f, mf->symbols[i].name);
        fprintf(f, ": %" PRId64, s->dims[i]);
    }
    fputs("},\n", f);
    device(f, s->model);
    kernel(f, s);
    /* What `task` and `tile` in reports, traces and the words given to s_ttracedata mean. */
    fputs(" \"tasks\": [", f);
    for (int i = 0; i < mf->ntasks; i++) {
        fputs(i ? ",\n  " : "\n  ", f);
        text(f, mf->tasks[i]);
    }
    fputs("],\n \"regions\": [", f);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", f);
        region(f, s, &c[i]);
    }
    fputs("]}\n", f);
}

etrt_status etrt_launch_json(const etrt_session *s, const struct etrt_captured *regions,
                             size_t count, etrt_status status, const char *message, char **out_text,
                             size_t *out_bytes) {
    *out_text = NULL;
    FILE *f = open_memstream(out_text, out_bytes);
    if (f) launch(f, s, regions, count, status, message);
    bool failed = !f || ferror(f);
    if ((!f || fclose(f) == 0) && !failed) return ETRT_OK;
    free(*out_text);
    *out_text = NULL;
    return etrt_no_memory();
}
