/* serve.h - etllm serve: a compiled language model behind HTTP. */
#ifndef LLM_SERVE_H
#define LLM_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct serve_model {
    const char *part;   /* its name in the kernel, and for clients; NULL: the one in its place */
    const char *folder; /* its checkpoint; where kernels are made, what MAKE is to make one of */
};

enum { MAX_MODELS = 64, SERVE_PATH = 4096 };

/* A kernel that was made of a model, and the checkpoint that goes with it. */
struct serve_made {
    char kernel[SERVE_PATH], folder[SERVE_PATH];
};

struct serve_options {
    uint64_t cache;              /* of experts, bytes */
    const char *kernel, *device; /* KERNEL holds all models; NULL: each has one of its own, which
                                    MAKE makes when the model is asked for first */
    bool (*make)(void *user, const char *model, struct serve_made *out, char *err);
    void *user;     /* of MAKE */
    int64_t loaded; /* most of these that have the device's memory at once; 0: any number */
    struct serve_model models[MAX_MODELS];
    int nmodels;
    const char *host, *unix_path;
    int64_t port;     /* 0: any that is free */
    const char *name; /* of the only model, for clients; NULL: the folder's */
    const char *key_file, *template_file, *cors, *access_log;
    const char **hosts; /* names under which it may be asked, beside its addresses */
    int nhosts;
    int tools;    /* as serve_tool_style names them */
    int thoughts; /* as serve_thought_style names them; 0: as REASONING says */
    bool reasoning, lenient;
    const char **aliases; /* names of the only model, up to a NULL */
    int64_t queue, batch, chunk, most, speculate, steps;
    bool forget, timed, resident;
    bool turns; /* launches of different kernels go one after the other */
    double launch_seconds, idle_seconds;
    int64_t body_limit;             /* bytes */
    int64_t connections;            /* most at once */
    int64_t address_connections;    /* of one address; 0: as many as there are */
    int64_t timeout, drain_timeout; /* seconds */
    int64_t ping;                   /* seconds of silence after which a stream says it is alive */
    int64_t abort_launch;           /* as of engine_options */
    bool abort_again;
};

/* Serves until a signal ends it. Exit status 0: it was asked to end and has; 1: it could not begin,
 * or did not end in time, with a line on stderr. */
int serve(const struct serve_options *);

/* Names of serve_options.tools, from 0; NULL past the last. */
const char *serve_tool_style(int);
const char *serve_thought_style(int);

#endif
