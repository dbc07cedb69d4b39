/* check_perplexity windows BOS WINDOW STRIDE IDS OUT.safetensors: the windows that `etllm
 * perplexity` reads of the token ids in the file IDS, as sequences for `etllm score`. BOS below 0:
 * there is none. check_perplexity compare BOS WINDOW STRIDE IDS LOGITS.safetensors SAID: is what it
 * said what these logits give? */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 10000 };
static int32_t ids[MOST];
static int n, bos, window, stride;

static void die(const char *what, const char *why) {
    fprintf(stderr, "check_perplexity: %s: %s\n", what, why);
    exit(1);
}

static void read_ids(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) die(path, "cannot be read");
    while (n < MOST && fscanf(f, "%d", &ids[n]) == 1)
        n++;
    fclose(f);
}

/* Window I: where it begins in the text, and how many tokens of it there are; 0: there is none. */
static int span(int i, int *from) {
    int room = window - (bos >= 0);
    *from = i * stride;
    if (i && (i - 1) * stride + room >= n) return 0;
    return *from + room < n ? room : n - *from;
}

static int windows(const char *out) {
    static struct etrt_st_tensor t[MOST];
    static char names[MOST][16];
    char err[ETRT_ST_ERR];
    int count = 0, from, length;
    for (; (length = span(count, &from)); count++) {
        int32_t *data = calloc((size_t)length + 1, sizeof *data);
        int extra = bos >= 0;
        data[0] = bos;
        memcpy(data + extra, ids + from, (size_t)length * sizeof *data);
        snprintf(names[count], sizeof *names, "tokens.%d", count);
        t[count] = (struct etrt_st_tensor){
            names[count],     "I32", 1,
            {length + extra}, data,  (size_t)(length + extra) * sizeof *data};
    }
    if (!etrt_st_write(out, t, (size_t)count, err, sizeof err)) die(out, err);
    for (int i = 0; i < count; i++)
        free((void *)(uintptr_t)t[i].data);
    return 0;
}

static int compare(const char *logits, const char *said) {
    char err[ETRT_ST_ERR], name[32];
    struct etrt_st *st;
    double nats = 0, got;
    int scored = 0, got_scored, from, length, done = bos >= 0 ? 0 : 1;
    if (!etrt_st_open(logits, &st, err, sizeof err)) die(logits, err);
    for (int i = 0; (length = span(i, &from)); i++) {
        snprintf(name, sizeof name, "logits.%d", i);
        const struct etrt_st_tensor *t = etrt_st_find(st, name);
        if (!t) die(name, "missing");
        for (int at = done - from; at < length; at++, done++, scored++) {
            const float *row = (const float *)t->data + (at - (bos < 0)) * t->shape[1];
            double sum = 0;
            for (int64_t k = 0; k < t->shape[1]; k++)
                sum += exp((double)row[k]);
            nats += log(sum) - (double)row[ids[from + at]];
        }
    }
    etrt_st_close(st);
    if (done != n) die("windows", "do not cover the text");
    double want = exp(nats / scored);
    if (sscanf(said, "perplexity %lf: %*f nats a token, %d of", &got, &got_scored) != 2)
        die("it said", said);
    printf("%d tokens: perplexity %f, by its logits %f\n", scored, got, want);
    if (got_scored != scored) die("it counted other tokens", said);
    return !(fabs(got - want) < 1e-5 * want);
}

int main(int argc, char **argv) {
    if (argc < 7) return 2;
    bos = atoi(argv[2]);
    window = atoi(argv[3]);
    stride = atoi(argv[4]);
    read_ids(argv[5]);
    if (!strcmp(argv[1], "windows")) return windows(argv[6]);
    return argc == 8 ? compare(argv[6], argv[7]) : 2;
}
