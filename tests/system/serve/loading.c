/* Texts of many models, while they are loaded, unloaded and put to sleep. */
#include "tests/system/serve/client.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double until;
static atomic_long answered, wrong, changed, busy, busy_places;

static void *ask(void *user) {
    unsigned state = (unsigned)(size_t)user;
    while (now() < until) {
        const struct want *w = &wants[rand_r(&state) % nwants];
        struct answer a;
        request(w->body, rand_r(&state) % 2, &a);
        /* All places were taken for as long as the server waits for one. */
        if (a.status == 503) {
            busy_places++;
            continue;
        }
        wrong += !is_wanted(&a, w);
        answered++;
    }
    return NULL;
}

/* The model's name in a request that was read. */
static void name_of(const struct want *w, char *out, size_t bytes) {
    const char *at = strstr(w->body, "\"model\":\"");
    if (!at) die("a request names no model");
    at += strlen("\"model\":\"");
    snprintf(out, bytes, "%.*s", (int)strcspn(at, "\""), at);
}

static void *change(void *user) {
    static const char *const paths[] = {"/models/unload", "/models/load", "/models/unload",
                                        "/sleep"};
    unsigned state = (unsigned)(size_t)user + 1000;
    while (now() < until) {
        char body[256], name[200];
        name_of(&wants[rand_r(&state) % nwants], name, sizeof name);
        int n = snprintf(body, sizeof body, "{\"model\":\"%s\"}", name);
        int status = post(paths[rand_r(&state) % 4], body, (size_t)n);
        if (status != 200 && status != 409 && status != 503) {
            fprintf(stderr, "status %d for %s\n", status, name);
            wrong++;
        }
        changed += status == 200;
        busy += status != 200;
        usleep((useconds_t)(rand_r(&state) % 20000));
    }
    return NULL;
}

static void *either(void *user) {
    return (size_t)user <= 2 ? change(user) : ask(user);
}

int loading(double seconds, long clients, const char *file) {
    read_wants(file);
    until = now() + seconds;
    run_threads(clients + 2, either);
    printf("%ld requests of %ld clients while models came and went: %ld wrong, %ld had no place in "
           "time; %ld times loaded or unloaded, %ld refused\n",
           (long)answered, clients, (long)wrong, (long)busy_places, (long)changed, (long)busy);
    return wrong || !answered || !changed;
}
