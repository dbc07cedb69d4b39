#include "examples/llm/prepare/prepare.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/vectors/vectors.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool join(char out[PATH_MAX], const char *folder, const char *name, char *err) {
    return snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ||
           llm_fail(err, "%s: the path is too long", folder);
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static bool is_gguf(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The cache's folder, made with those above it. */
static bool cache_folder(const struct prepare_options *o, char out[PATH_MAX], char *err) {
    const char *base = o->cache, *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    int n = base    ? snprintf(out, PATH_MAX, "%s", base)
            : cache ? snprintf(out, PATH_MAX, "%s/etcc", cache)
                    : snprintf(out, PATH_MAX, "%s/.cache/etcc", home ? home : "");
    if (n >= PATH_MAX || (!base && !cache && !home))
        return llm_fail(err, "there is no folder for the cache: see --cache");
    for (char *at = out + 1;; at++) {
        if (*at && *at != '/') continue;
        char was = *at;
        *at = 0;
        if (mkdir(out, 0755) != 0 && errno != EEXIST)
            return llm_fail(err, "%s: %s", out, strerror(errno));
        *at = was;
        if (!was) return true;
    }
}

static void say(const char *what, const char *of) {
    fprintf(stderr, "etllm: %s %s\n", what, of);
}

static void remove_folder(const char *path) {
    char command[PATH_MAX];
    static const char *const files[] = {"model.etg", "kernel.hsaco", "log"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (snprintf(command, sizeof command, "%s/%s", path, files[i]) < (int)sizeof command)
            unlink(command);
    rmdir(path);
}

/* ---- steps ---- */

static bool convert(const struct prepare_options *o, const char *cache, struct prepared *out,
                    char *err) {
    char key[24], name[64], log[PATH_MAX + 8], part[PATH_MAX + 32];
    if (!is_gguf(o->model)) return join(out->folder, o->model, ".", err);
    if (!key_of(o->model, ETCC_VERSION, key, err)) return false;
    snprintf(name, sizeof name, "checkpoint-%s", key);
    if (!join(out->folder, cache, name, err) || is_there(out->folder)) return *err == 0;
    say("reading", o->model);
    snprintf(part, sizeof part, "%s.%ld", out->folder, (long)getpid());
    snprintf(log, sizeof log, "%s.log", out->folder);
    const char *const argv[] = {"etgguf", o->model, "-o", part, NULL};
    if (!tool_run(argv, log, err)) return false;
    unlink(log);
    if (rename(part, out->folder) == 0 || is_there(out->folder)) return true;
    return llm_fail(err, "%s: %s", out->folder, strerror(errno));
}

/* Of what layers carry along texts there are as many snapshots as slots. Tokens are drawn in the
 * kernel: the host takes longer for one than a small model (bench/results/h200_serve.md). */
static bool import(const struct prepare_options *o, int64_t room, const char *folder,
                   const char *etg, const char *log, char *err) {
    char context[32], cache[48], slots[32], launch[32];
    const char *argv[16] = {"etimport", folder, "-o", etg, "--snapshots=slots"};
    int n = 5;
    enum vectors_by by;
    if (!vectors_by(folder, &by, err)) return false;
    snprintf(context, sizeof context, "--context=%lld", (long long)o->context);
    snprintf(slots, sizeof slots, "--slots=%lld", (long long)o->slots);
    snprintf(launch, sizeof launch, "--max-tokens=%lld", (long long)o->launch);
    snprintf(cache, sizeof cache, "--cache-room=%lld", (long long)room);
    if (o->context) argv[n++] = context;
    if (!o->context && room) argv[n++] = cache;
    if (o->slots) argv[n++] = slots;
    if (o->launch) argv[n++] = launch;
    if (by != VECTORS_BY_TEXTS) argv[n++] = "--logits=asked";
    if (by == VECTORS_NOT) argv[n++] = "--sample=all";
    return tool_run(argv, log, err);
}

/* A server's launches have all numbers of tokens: with tilings for more of them it gives 6 % more
 * tokens a second to 32 clients (bench/results/h200_serve.md). Where it is emulated, compiling them
 * takes longer than they save; in the order of the fewest rows they are alike. */
static bool many_tilings(const struct prepare_options *o, const struct lm_device *device) {
    return !device->emulated && !o->same_sums;
}

/* All of it in a folder that gets its name once it is whole. */
static bool compile(const struct prepare_options *o, int64_t room, const struct lm_device *device,
                    const char *home, const struct prepared *p, char *err) {
    char part[PATH_MAX], etg[PATH_MAX], log[PATH_MAX], kernel[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.%ld", home, (long)getpid()) >= PATH_MAX)
        return llm_fail(err, "%s: the path is too long", home);
    if (mkdir(part, 0755) != 0) return llm_fail(err, "%s: %s", part, strerror(errno));
    bool ok = join(etg, part, "model.etg", err) && join(log, part, "log", err) &&
              join(kernel, part, "kernel.hsaco", err);
    const char *argv[10] = {"etcc", etg, "-o", kernel, "--target", device->target};
    int n = 6;
    if (o->resident) argv[n++] = "--resident";
    if (o->same_sums) argv[n++] = "--same-sums";
    if (many_tilings(o, device)) argv[n++] = "--variants=8";
    if (ok) say("compiling for", device->target);
    ok = ok && import(o, room, p->folder, etg, log, err) && tool_run(argv, log, err);
    if (ok && rename(part, home) != 0 && !is_there(home))
        ok = llm_fail(err, "%s: %s", home, strerror(errno));
    remove_folder(part);
    return ok;
}

/* A quarter of a launch is what a prompt has of it beside texts. Launches of models that give
 * vectors or scores are full of texts; an encoder's hold whole ones, of which one can be as long as
 * the context. */
static bool fill_in(struct prepare_options *o, const char *folder, const struct lm_device *device,
                    char *err) {
    enum { TOKENS = 512, TEXTS = 32, OF_TEXTS = 256 };
    enum vectors_by by;
    if (!vectors_by(folder, &by, err)) return false;
    if (by == VECTORS_NOT) {
        if (!o->launch && !device->emulated) o->launch = OF_TEXTS;
        return true;
    }
    if (!o->slots) o->slots = TEXTS;
    if (!o->launch) o->launch = by == VECTORS_BY_TEXTS && o->context ? o->context : TOKENS;
    return true;
}

bool prepare(const struct prepare_options *given, struct prepared *out, char *err) {
    struct prepare_options all = *given, *o = &all;
    char cache[PATH_MAX], home[PATH_MAX], key[24], name[64], text[256];
    struct lm_device device;
    double began = lm_now();
    *err = 0;
    if (!cache_folder(o, cache, err) || !convert(o, cache, out, err)) return false;
    if (!lm_device(o->device, &device, err)) return false;
    if (!fill_in(o, out->folder, &device, err)) return false;
    int64_t room = o->context ? 0 : room_of(o, out->folder, &device);
    snprintf(text, sizeof text, "%s drawn %s %lld %lld %lld %lld%s%s%s", ETCC_VERSION,
             device.target, (long long)o->context, (long long)room, (long long)o->slots,
             (long long)o->launch, o->resident ? " resident" : "", o->same_sums ? " same-sums" : "",
             many_tilings(o, &device) ? " variants" : "");
    if (!key_of(out->folder, text, key, err)) return false;
    snprintf(name, sizeof name, "kernel-%s", key);
    if (!join(home, cache, name, err) || !join(out->kernel, home, "kernel.hsaco", err))
        return false;
    if (is_there(out->kernel)) return true;
    if (!compile(o, room, &device, home, out, err)) return false;
    fprintf(stderr, "etllm: ready to load after %.1f s: %s\n", lm_now() - began, home);
    return true;
}
