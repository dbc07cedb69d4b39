/* import.h - the parts of etimport: config.json, templates filled in with it, the check of the
 * tensors.
 *
 * A step reports every problem it finds to stderr through imp_error and returns false when there
 * was one; no step exits. */
#ifndef ET_IMPORT_H
#define ET_IMPORT_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct etrt_st;
struct json_t;

/* Problems are printed as they are found, at most a screenful of each kind. */
struct imp_report {
    int errors, warnings;
};
void imp_error(struct imp_report *, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void imp_warning(struct imp_report *, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Not a problem by itself. */
void imp_note(const char *where, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says how many problems were not shown. */
void imp_report_end(const struct imp_report *);

/* What the command line chose. */
struct imp_options {
    const char *checkpoint, *output;
    const char *template; /* a file to use instead of what is built in, or NULL */
    char name[128];
    int64_t max_tokens, slots;
    int64_t context;      /* 0: as the model allows, at most 4096, or more if they fit into */
    int64_t cache_room;   /* so many bytes of keys and values, of all slots */
    bool config_only;     /* do not look at the weights */
    bool wide;            /* weights and states are declared f32 */
    int bf16_frequencies; /* 1: rope's are rounded to bf16 */
    const char *cache;    /* type of kept keys and values, or NULL */
    int f16_products;     /* 1: quantised weights are f16 in products, not bf16 */
    const char *results;  /* type that experts' results are kept in, or NULL: as summed up, f32 */
    int64_t page, pages;  /* positions of a page, 0: keys and values are kept in slots; pages 0: one
                             for every position of every slot */
    int64_t snapshots;    /* rows of states behind those of slots, of layers that carry some */
    bool snapshots_if;    /* as many as slots, where there are such layers */
    const char *sample; /* how the next tokens are chosen: "greedy", "all", or NULL: they are not */
    const char *activations; /* what products of quantised weights round their rows to: "fp8", or
                                NULL: they do not */
    int asked;     /* 1: there are logits of the tokens alone whose logits a launch asks for */
    int64_t steps; /* at most so many in a launch, each with the tokens that the one before chose;
                      0: a launch is one */
    const char *ignored[16]; /* fields of config.json that the user knows not to matter */
    int nignored;
};

/* ---- config.c: config.json, and which of its fields were looked at ---- */
struct imp_config {
    et_arena *arena;
    const char *path;
    struct imp_report *report;
    struct json_t *root;
    struct json_t *outer;     /* what ROOT is a part of, or NULL */
    bool inner;               /* of a language model inside of a larger one */
    const char *model, *head; /* what its tensors' names begin with, or NULL: as in templates */
    const char **used;        /* "hidden_size", "rope_scaling.factor", ... */
    int nused, cused;
    const char *library;    /* whose class the completed fields are of: "transformers 5.24.0" */
    struct imp_default {    /* fields that the file leaves out, of the first level */
        const char *name;   /* in ROOT unless UNSURE */
        const char *unsure; /* why it has no value: versions differ, and none is told; or NULL */
        const char *value;  /* as JSON */
        bool read;          /* something asked for it */
        bool told;          /* that it is unsure */
    } * defaults;
    int ndefaults, cdefaults;
};
/* False where the file cannot be read or is no object. Close it in any case. */
bool imp_config_open(struct imp_config *, et_arena *, const char *path, struct imp_report *);
void imp_config_close(struct imp_config *);
/* What PATH ("rope_scaling.factor") leads to, or NULL; null counts as absent. It is used then. */
const struct json_t *imp_config_find(struct imp_config *, const char *path);
void imp_config_use(struct imp_config *, const char *path);
bool imp_config_has(const struct imp_config *, const char *field); /* a field of the first level */
const char *imp_json_kind(const struct json_t *);                  /* "an object" */
/* "architectures": the first of it, or "model_type": NULL after an error when there is neither. */
const char *imp_config_architecture(struct imp_config *, bool *out_is_type);
/* Where the file is of a larger model that has a language model in it ("text_config"), goes on with
 * the configuration of that alone: its "model_type". NULL where there is none. */
const char *imp_config_enter(struct imp_config *);
/* Finds out what the tensors of that language model are called; until then, and of any other model,
 * they are called as a template calls them. */
void imp_config_tensors(struct imp_config *, const struct etrt_st *);
/* What the checkpoint calls the tensor that a template calls NAME, which may go on after its end.
 */
const char *imp_config_tensor(const struct imp_config *, const char *name);
/* Does the tensor NAME belong to another part of the larger model? */
bool imp_config_outside(const struct imp_config *, const char *name);
/* Report every unused field of the file that may change what is computed. */
bool imp_config_unused(struct imp_config *, const struct imp_options *, const char *architecture);

/* ---- classes.c: what a field means that config.json leaves out ---- */
/* Puts what the class of ARCHITECTURE has by default into the configuration wherever the file says
 * nothing, by the version of the library that wrote the file. Null stays null. An architecture
 * without a class stays as it is. False after an error: the file says a field by two names, in two
 * ways. */
bool imp_config_complete(struct imp_config *, const char *architecture);
/* The default of the field that PATH begins with, or NULL where the file has that field or the
 * class has none. */
struct imp_default *imp_config_default(const struct imp_config *, const char *path);
/* Says which fields were read that the file does not have: what an error may come from. */
void imp_config_defaults_note(const struct imp_config *);

/* ---- models.c: the templates that are built in ---- */
struct imp_source {
    const char *name; /* "llama.etg.in", or the path of a file */
    const char *text; /* ends with a 0 */
};
/* The built-in template called NAME (without .etg.in), or false. */
bool imp_model_find(const char *name, struct imp_source *out);
/* The built-in template that an %architecture line of names ARCHITECTURE, a model_type when
 * IS_TYPE: the architecture's name, or NULL. */
const char *imp_model_of(et_arena *, const char *architecture, bool is_type,
                         struct imp_source *out);
/* The same of the template TEXT. */
const char *imp_model_serves(et_arena *, const char *text, const char *architecture, bool is_type);
/* The next architecture that something is built in for, from *AT on (0 at first); NULL at the end.
 */
const char *imp_model_next(et_arena *, size_t *at);

/* ---- template.c: a template and a configuration give the text of an .etg ---- */
struct imp_filled {
    char *text; /* in the arena; "auto" types are spelled "bf16" */
    size_t bytes;
    struct imp_auto { /* where a weight's type is to be what the checkpoint has */
        int line;
        size_t at;
        bool fine; /* f16 in the place of bf16 */
    } * autos;
    int nautos, cautos;
    const char **spare; /* patterns of tensors that may be there and are not used */
    int nspare, cspare;
    struct imp_below { /* the integers of these tensors are from 0 up to but not including LIMIT */
        const char *source;
        int64_t limit;
    } * below;
    int nbelow, cbelow;
};
/* ST may be NULL. */
bool imp_template_fill(const struct imp_source *, struct imp_config *, const struct imp_options *,
                       const struct etrt_st *, const char *architecture, struct imp_filled *out);

/* ---- weights.c: what the filled-in template declares, against the checkpoint ---- */
/* Parses the text; checks presence, shape and type of every weight it declares, and that no other
 * tensor of the checkpoint is left out; puts the tensors' types into the text. ST may be NULL. */
bool imp_check_weights(struct imp_filled *, const struct imp_config *, const char *name,
                       const struct etrt_st *, const struct imp_options *);

#endif
