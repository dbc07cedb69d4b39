/* llama-server's own /completion, and its /infill. */
#include "examples/llm/api/form.h"
#include <string.h>

static void begin(struct answer *a) {
    (void)a;
}

static json_t *piece_of(const struct part *p, const char *text, size_t bytes, bool over) {
    return json_pack("{s:i, s:s%, s:[], s:b, s:i, s:I, s:I}", "index", p->index, "content", text,
                     bytes, "tokens", "stop", over, "id_slot", -1, "tokens_predicted",
                     (json_int_t)(p->finish ? p->result.generated : p->ntokens), "tokens_evaluated",
                     (json_int_t)p->prompt->n);
}

static void piece(struct part *p, enum piece kind, const char *text, size_t bytes) {
    (void)kind;
    answer_event(p->answer, NULL, piece_of(p, text, bytes, false));
}

json_t *answer_timings(const struct part *p) {
    const struct engine_result *r = &p->result;
    double first = r->first > 0 ? r->first : r->last;
    double prompt = (first - r->submitted) * 1e3, text = (r->last - first) * 1e3;
    int64_t read = r->prompt - r->cached;
    return json_pack("{s:I, s:I, s:f, s:f, s:I, s:f, s:f}", "cache_n", (json_int_t)r->cached,
                     "prompt_n", (json_int_t)read, "prompt_ms", prompt, "prompt_per_second",
                     prompt > 0 ? (double)read * 1e3 / prompt : 0, "predicted_n",
                     (json_int_t)r->generated, "predicted_ms", text, "predicted_per_second",
                     text > 0 ? (double)r->generated * 1e3 / text : 0);
}

/* Those that FIELDS name of ALL, which is taken: "a/b" is b of a. */
static json_t *only_fields(const json_t *fields, json_t *all) {
    json_t *out = json_object();
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const char *name = json_string_value(json_array_get(fields, i));
        json_t *v = all;
        for (const char *slash; v && (slash = strchr(name, '/')); name = slash + 1)
            v = json_object_getn(v, name, (size_t)(slash - name));
        v = json_object_get(v, name);
        if (v) json_object_set(out, name, v);
    }
    json_decref(all);
    return out;
}

/* What the last line of a text says, or the only one. */
static json_t *ended(struct part *p, bool whole) {
    const struct answer *a = p->answer;
    const struct engine_result *r = &p->result;
    json_t *out =
        piece_of(p, whole && p->content.n ? p->content.data : "", whole ? p->content.n : 0, true);
    json_t *more =
        json_pack("{s:s, s:b, s:s, s:s, s:I, s:{s:I, s:f, s:f, s:I, s:I}, s:o}", "model",
                  a->model->name, "truncated", 0, "stop_type",
                  r->end == ENGINE_LENGTH ? "limit"
                  : r->end == ENGINE_STOP ? "eos"
                                          : "word",
                  "stopping_word", "", "tokens_cached", (json_int_t)(r->prompt + r->generated),
                  "generation_settings", "seed", (json_int_t)a->request->sampling.seed,
                  "temperature", a->request->sampling.temperature, "top_p",
                  a->request->sampling.top_p, "top_k", (json_int_t)a->request->sampling.top_k,
                  "n_predict", (json_int_t)a->request->most, "timings", answer_timings(p));
    json_object_update(out, more);
    json_decref(more);
    return a->request->fields ? only_fields(a->request->fields, out) : out;
}

static void end(struct part *p) {
    answer_event(p->answer, NULL, ended(p, false));
}

static void close_stream(struct answer *a) {
    struct fault f;
    bool failed = a->failed;
    for (int i = 0; i < a->nparts; i++)
        failed = failed || a->parts[i].failed;
    if (!failed) return;
    fault_set(&f, 500, NULL, NULL, "%s", *a->why ? a->why : "the answer was given up");
    answer_event(a, NULL, fault_json(&f, false));
}

static json_t *whole(struct answer *a) {
    if (a->nparts == 1) return ended(&a->parts[0], true);
    json_t *all = json_array();
    for (int i = 0; i < a->nparts; i++)
        json_array_append_new(all, ended(&a->parts[i], true));
    return all;
}

const struct form form_native = {begin, piece, end, close_stream, whole};
