#include "ir/base/stack.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct call {
    void (*fn)(void *);
    void *ctx;
};

static void *run(void *arg) {
    const struct call *c = arg;
    c->fn(c->ctx);
    return NULL;
}

void et_with_stack(void (*fn)(void *ctx), void *ctx) {
    struct call c = {fn, ctx};
    pthread_attr_t attr;
    pthread_t thread;
    bool made = pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, ET_STACK) == 0 &&
                pthread_create(&thread, &attr, run, &c) == 0;
    if (made)
        pthread_join(thread, NULL);
    else
        fn(ctx);
}
