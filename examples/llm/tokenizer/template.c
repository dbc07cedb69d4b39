/* template.c - the post_processor: what is put around a text. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

static bool put(struct ids *ids, int32_t id, char *err) {
    return ids_add(ids, id) || llm_fail(err, "out of memory");
}

/* One entry of a template: a special token, by the ids the template gives for it, or the text. */
static bool load_part(struct template *t, const json_t *part, const json_t *specials,
                      bool *seen_text, char *err) {
    if (json_object_get(part, "Sequence")) {
        if (*seen_text)
            return llm_fail(err, "post_processor: the text stands twice in the template");
        *seen_text = true;
        return true;
    }
    const char *name =
        json_string_value(json_object_get(json_object_get(part, "SpecialToken"), "id"));
    const json_t *ids = name ? json_object_get(json_object_get(specials, name), "ids") : NULL;
    if (!json_array_size(ids))
        return llm_fail(err, "post_processor: special token \"%.80s\" has no ids",
                        name ? name : "");
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int32_t id = json_file_id(json_array_get(ids, i));
        if (id < 0)
            return llm_fail(err, "post_processor: special token \"%.80s\" has a bad id", name);
        if (!put(*seen_text ? &t->suffix : &t->prefix, id, err)) return false;
    }
    return true;
}

/* Which of the three lists of a pair comes next, after what was read. */
struct pair_reader {
    struct ids *list;
    bool first, second, typed; /* both texts were read; something of type 1 was */
};

/* One entry of the template for two texts, of type TYPE: the first text has type 0 with all before
 * it, and behind the first thing of type 1 all is of type 1. */
static bool load_pair_part(struct template_pair *p, struct pair_reader *r, const json_t *part,
                           const json_t *specials, char *err) {
    const json_t *text = json_object_get(part, "Sequence"),
                 *special = json_object_get(part, "SpecialToken");
    const json_t *type = json_object_get(text ? text : special, "type_id");
    double of = json_is_number(type) ? json_number_value(type) : 0;
    const char *id = json_string_value(json_object_get(text ? text : special, "id"));
    bool late = of == 1 && !r->typed;
    p->none |= (of != 0 && of != 1) || (of == 0 && r->typed) || (of == 1 && !r->first) || !id;
    r->typed |= of == 1;
    if (late && !r->second) p->second = p->between.n;
    if (p->none) return true;
    if (!text) {
        const json_t *ids = json_object_get(json_object_get(specials, id), "ids");
        for (size_t i = 0; i < json_array_size(ids); i++) {
            int32_t number = json_file_id(json_array_get(ids, i));
            if (number < 0)
                return llm_fail(err, "post_processor: special token \"%.80s\" has a bad id", id);
            if (!put(r->list, number, err)) return false;
        }
        return true;
    }
    p->none |= r->first ? r->second || strcmp(id, "B") : strcmp(id, "A");
    r->list = r->first ? &p->after : &p->between;
    r->second = r->first;
    r->first = true;
    return true;
}

/* Two texts that nothing is put around are of types 0 and 1. */
static bool load_two(struct template_pair *p, const json_t *parts, const json_t *specials,
                     char *err) {
    struct pair_reader r = {.list = &p->before};
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!load_pair_part(p, &r, json_array_get(parts, i), specials, err)) return false;
    p->none |= !r.second;
    p->alike = !r.typed;
    return true;
}

static bool load_template(struct template *t, const json_t *j, char *err) {
    const json_t *parts = json_object_get(j, "single");
    bool seen_text = false;
    if (!fields_known(j, "post_processor", "type single pair special_tokens", err) ||
        !load_two(&t->pair, json_object_get(j, "pair"), json_object_get(j, "special_tokens"), err))
        return false;
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!load_part(t, json_array_get(parts, i), json_object_get(j, "special_tokens"),
                       &seen_text, err))
            return false;
    return seen_text || llm_fail(err, "post_processor: a template without the text");
}

/* "cls": ["<s>", 0], "sep": ["</s>", 2] */
static bool load_pair(struct template *t, const json_t *j, char *err) {
    if (!fields_known(j, "post_processor", "type sep cls trim_offsets add_prefix_space", err))
        return false;
    int32_t cls = json_file_id(json_array_get(json_object_get(j, "cls"), 1));
    int32_t sep = json_file_id(json_array_get(json_object_get(j, "sep"), 1));
    if (cls < 0 || sep < 0)
        return llm_fail(err, "post_processor: \"cls\" or \"sep\" is not a name and an id");
    struct template_pair *p = &t->pair;
    p->alike = !strcmp(type_of(j), "RobertaProcessing"); /* which has two of them between */
    p->second = 1;
    return put(&t->prefix, cls, err) && put(&t->suffix, sep, err) && put(&p->before, cls, err) &&
           put(&p->between, sep, err) && (!p->alike || put(&p->between, sep, err)) &&
           put(&p->after, sep, err);
}

static bool load(struct template *t, const json_t *j, int depth, char *err) {
    const char *type = type_of(j);
    if (!strcmp(type, "ByteLevel")) /* moves offsets only */
        return fields_known(j, "post_processor", "type add_prefix_space trim_offsets use_regex",
                            err);
    if (!strcmp(type, "Sequence") && depth < MAX_DEPTH) {
        const json_t *list = json_object_get(j, "processors");
        if (!fields_known(j, "post_processor", "type processors", err)) return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!load(t, json_array_get(list, i), depth + 1, err)) return false;
        return json_is_array(list) || llm_fail(err, "post_processor Sequence without a list");
    }
    bool pair = !strcmp(type, "RobertaProcessing") || !strcmp(type, "BertProcessing");
    if (!pair && strcmp(type, "TemplateProcessing"))
        return llm_fail(err, "post_processor \"%.80s\" is not supported", type);
    if (t->there) return llm_fail(err, "post_processor: a second template is not supported");
    t->there = true;
    return pair ? load_pair(t, j, err) : load_template(t, j, err);
}

bool template_load(struct template *t, const json_t *j, char *err) {
    return !j || json_is_null(j) || load(t, j, 0, err);
}

void template_free(struct template *t) {
    free(t->prefix.v);
    free(t->suffix.v);
    free(t->pair.before.v);
    free(t->pair.between.v);
    free(t->pair.after.v);
}
