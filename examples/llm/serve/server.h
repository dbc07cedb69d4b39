/* server.h - what the files of this room share. */
#ifndef LLM_SERVER_H
#define LLM_SERVER_H

#include "examples/llm/api/answer.h"
#include "examples/llm/api/chat.h"
#include "examples/llm/api/infill.h"
#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/stops.h"
#include "examples/llm/grammar/grammar.h"
#include "examples/llm/serve/frame.h"
#include "examples/llm/serve/metrics.h"
#include "examples/llm/serve/serve.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum { STATE_LOADING, STATE_READY, STATE_DRAINING };

struct keys; /* keys.c */
struct log;  /* log.c */
struct generation;
struct pool; /* work.c */

/* A model that is served. */
struct served {
    char name[256]; /* for clients */
    const char *folder;
    struct instance *instance;
    atomic_bool open; /* what is below is there, and remains */
    struct tokenizer *tokenizer;
    struct vocabulary *vocabulary;
    struct stops stops;
    struct chat *chat;
    struct vectors *vectors;
    struct infill infill;
    struct api_model model;
    struct engine *engine;
    struct engine_sizes sizes;
    int64_t trained; /* positions that config.json says the model knows; 0: it does not say */
    struct metrics metrics;
};

/* A kernel with its models, which are opened, sleep and wake together. */
struct instance {
    int first, n; /* of the models */
    struct serve_made made;
    /* With the lock of instances held: */
    enum { INSTANCE_NEW, INSTANCE_OPEN, INSTANCE_BUSY } state; /* BUSY: it is being changed */
    bool placed;              /* one of as many as may be awake at once, --models-max */
    int users;                /* requests that it is kept awake for */
    double used;              /* when one had it last */
    bool dismissed;           /* it is to sleep as soon as nobody has it */
    struct exchange *waiting; /* until it can be had */
};

struct server {
    const struct serve_options *o;
    struct served models[MAX_MODELS];
    int nmodels;
    struct instance instances[MAX_MODELS];
    int ninstances;
    pthread_mutex_t loading; /* the lock of instances */
    pthread_cond_t changed;
    pthread_t loader;
    bool has_loader, unloading, unloaded; /* it is to end, it has ended */
    struct keys *keys;                    /* NULL: everybody may */
    struct log *log;
    struct http_metrics metrics;
    struct MHD_Daemon *daemon;
    struct pool *readers; /* requests that are read; */
    struct pool *patient; /* large ones, which no other waits for; */
    struct pool *masks;   /* which tokens grammars allow: no request waits for them */
    int listener;
    char where[300]; /* what it listens to, for people */
    atomic_int state;
    atomic_bool quit, unwatched;
    double began;
    int64_t created; /* seconds since 1970 */

    pthread_mutex_t lock; /* of the lists */
    pthread_cond_t idle;  /* the last generation ended */
    struct client *clients;
    struct generation *generations, **last_generation;
    uint64_t ngenerations; /* there ever were */
    pthread_t watcher;
    bool has_watcher;
};

/* A connection. */
struct client {
    struct server *server;
    struct client *next, **at;
    int fd;
    double waiting;      /* since when a request is awaited; 0: one is being answered */
    struct frame frame;  /* in the thread of the connection */
    bool heard;          /* its bytes came by receive.c */
    bool wrong, refused; /* a request is not right; that was told */
    double silent;       /* since when it says no more, a request being awaited; 0: it may */
};

/* A request and what becomes of it. The connection holds one reference, each sequence in the engine
 * another. */
struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    struct client *client;
    const char *method; /* of MHD, as long as the connection's request */
    char path[128];
    char authority[256]; /* that a target in absolute form names; "": it has the usual form */
    bool wrong_target;
    char allow[32]; /* methods, where another was used; "": none are told */
    struct buffer body;
    bool oversized, answered;
    double began;
    int status;
    uint64_t sent;
    struct generation *generation; /* NULL: it does not generate */
    /* What takes long is done by the readers, while the library sleeps; what they answered is kept.
     */
    enum MHD_Result (*handle)(struct exchange *);
    bool working, worked;
    struct instance *wants, *has; /* it waits for one; it keeps one awake until it is over */
    char *unloaded;               /* why that one cannot be had; NULL: nothing is in the way */
    struct exchange *next_waiting;
    struct buffer reply;
    const char *reply_type;
    int reply_status; /* 0: none was given */
};

/* models.c: what is served. */
bool models_name(struct server *, char *err); /* before anything is loaded */
/* All that are of a kernel which is there. */
bool models_load(struct server *, char *err);
/* Those of an instance that was not opened yet. */
bool models_open(struct server *, struct instance *, char *err);
void models_free(struct server *);
struct served *models_find(struct server *, const char *name); /* NULL: there is none */
/* The one that a request names; where there is one only, that. NULL with the fault. */
struct served *models_choose(struct server *, const json_t *body, struct fault *);
/* "a, b", for people and for labels. */
const char *models_list(const struct server *, const char *between, char *out, size_t bytes);

/* instances.c: which kernels have the device's memory. */
bool instances_start(struct server *, char *err);
void instances_stop(struct server *);
/* The request has the model until it is over, as X->HAS says. False: it must wait, where X->WANTS
 * says so, for instances_park; else the fault says why it cannot be had. */
bool instances_have(struct exchange *, struct served *, struct fault *);
/* Keeps a request until it can have what it wants, and lets it go its route again. */
void instances_park(struct exchange *);
/* DISMISS: it sleeps as soon as nobody has it. */
void instances_let_go(struct server *, struct instance *, bool dismiss);
void instances_dismiss(struct server *, struct instance *);
bool instances_unload(struct server *, struct instance *, char *err);
/* "loaded", "loading", "unloaded". */
const char *instances_state(struct server *, struct instance *);

/* serve.c: the watcher's thread, given the server: looks after connections that are slow, and those
 * that have gone, until it is UNWATCHED. */
void *serve_watch(void *server);

/* http.c */
bool http_start(struct server *, char *err);
void http_stop(struct server *);
enum MHD_Result http_reply(struct exchange *, int status, const char *type,
                           struct buffer *body);                         /* takes the body */
enum MHD_Result http_json(struct exchange *, int status, json_t *value); /* takes the reference */
enum MHD_Result http_fault(struct exchange *, const struct fault *);
/* Headers that all responses have. */
void http_headers(struct exchange *, struct MHD_Response *, int status);

/* receive.c: what clients send is looked at before the library reads it. False: that cannot be. */
bool receive_begin(struct client *);
void receive_end(struct client *);
/* Answers a request that is not right, and ends the connection. With the server's lock held. */
void receive_refuse(struct client *);

/* hosts.c: names that a request may be for, and pages that may ask. */
/* Takes a target apart, "/path" or "http://authority/path"; whether it is one. */
bool hosts_target(const char *target, char *authority, size_t bytes, const char **out_path);
bool hosts_allow(const struct server *, const char *host);
/* The origin that an answer to ORIGIN names; NULL: none. */
const char *hosts_origin(const struct server *, const char *origin);

/* routes.c */
enum MHD_Result route(struct exchange *);
/* A reader goes on with a request that was kept. */
void route_again(struct exchange *);

/* others.c: what is asked beside texts. */
enum MHD_Result others_version(struct exchange *);
enum MHD_Result others_sleep(struct exchange *);
enum MHD_Result others_wake(struct exchange *);
enum MHD_Result others_is_sleeping(struct exchange *);
enum MHD_Result others_tags(struct exchange *);
/* Ollama's way to load and unload: a request without a prompt; with keep_alive 0 the model is let
 * go. */
bool others_asks_nothing(const struct exchange *, const json_t *body);
bool others_dismisses(const json_t *body);
enum MHD_Result others_loaded(struct exchange *, const struct served *, bool loaded);
enum MHD_Result others_running(struct exchange *);
enum MHD_Result others_load(struct exchange *, const struct served *, const json_t *body);
enum MHD_Result others_unload(struct exchange *, const struct served *, const json_t *body);
enum MHD_Result others_apply_template(struct exchange *, const struct served *, const json_t *body);
enum MHD_Result others_count_tokens(struct exchange *, const struct served *, const json_t *body);
enum MHD_Result others_show(struct exchange *, const struct served *, const json_t *body);

/* work.c: threads that do one thing after the other. NULL: they cannot be begun. */
/* NICE: how far they stand back behind other threads, as nice(1) has it. */
struct pool *pool_make(int threads, int nice);
bool pool_add(struct pool *, void (*run)(void *), void *user); /* false: no memory */
void pool_close(struct pool *); /* does what was added first; NULL is fine */

/* generation.c: requests that the engine answers. */
enum MHD_Result generation_start(struct exchange *, enum dialect);
/* The library may have its answer, once it was started. */
enum MHD_Result generation_begin(struct exchange *);
/* MHD asks again, after generation_begin or a resume. */
enum MHD_Result generation_again(struct exchange *);
/* The connection's request is over. */
void generation_leave(struct exchange *);
/* Looks after all of them: clients that left, streams that are silent. */
void generation_watch(struct server *);
void generation_cancel_all(struct server *);
const char *generation_id(const struct exchange *);

/* listen.c: a socket that listens, non-blocking, and what it listens to. */
bool listen_open(const struct serve_options *, int *out_fd, char *where, size_t bytes, char *err);
void listen_remove(const struct serve_options *);

/* keys.c */
bool keys_read(const char *file, struct keys **out, char *err);
void keys_free(struct keys *);
/* In a time that tells nothing of the keys. */
bool keys_have(const struct keys *, const char *given);

/* log.c: lines that are lost rather than waited for. */
bool log_open(const char *file, struct log **out, char *err);
void log_close(struct log *);
void log_reopen(struct log *);
void log_exchange(struct log *, const struct exchange *, const struct usage *);
int64_t log_lost(const struct log *);

/* page.c: the page at "/". */
extern const char page_html[];
extern const size_t page_bytes;

#endif
