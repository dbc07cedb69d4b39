/* etload ADDRESS ...: what clients of a language model's server see of it. ADDRESS:
 * http://127.0.0.1:PORT
 *
 * etload ADDRESS get PATH   what the server answers there, on standard output
 * etload ADDRESS ask CLIENTS REQUESTS PROMPT ANSWER SEED [FIELDS]
 *     CLIENTS at a time stream REQUESTS completions of about ANSWER tokens to prompts of about
 *     PROMPT characters, drawn with SEED from three to five quarters of that; FIELDS: more of the
 *     request, as JSON has it between braces. Prints a line for each figure, NAME VALUE; times are
 *     milliseconds. Exit status 1 where an answer was not whole.
 * etload ADDRESS beside CLIENTS LONG PROMPT ANSWER SEED [FIELDS]
 *     the same CLIENTS, one request after the other, and when they have gone on for two seconds a
 *     prompt of LONG characters: `beside` are the times between their tokens from then until its
 *     first token has come, `alone` those before, `long` the time until that token. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in address;

_Noreturn static void die(const char *what) {
    fprintf(stderr, "etload: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- a connection ---- */

static int open_connection(void) {
    const struct timeval limit = {.tv_sec = 300};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("cannot connect");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_all(int fd, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);
        if (n <= 0) die("cannot send");
        data += n;
        bytes -= (size_t)n;
    }
}

static int get(const char *path) {
    char bytes[4096];
    int fd = open_connection(), status = 0;
    int length = snprintf(bytes, sizeof bytes, "GET %s HTTP/1.0\r\n\r\n", path);
    if (length >= (int)sizeof bytes) die("the path is too long");
    send_all(fd, bytes, (size_t)length);
    FILE *in = fdopen(fd, "r");
    if (!in) die("out of memory");
    if (!fgets(bytes, sizeof bytes, in) || sscanf(bytes, "HTTP/1.%*d %d", &status) != 1)
        die("no answer");
    while (fgets(bytes, sizeof bytes, in) && strcmp(bytes, "\r\n") != 0)
        continue;
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        fwrite(bytes, 1, n, stdout);
    fclose(in);
    return status == 200 ? 0 : 1;
}

/* ---- figures, of all clients together ---- */

struct figures {
    double *v;
    size_t n, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct figures firsts, gaps, wholes, beside;
static double window; /* since when a long prompt is being read; 0: there is none */
static long prompt_tokens, tokens, failed;
static long next, requests;
static int prompt_about, answer_about;
static unsigned long seed;
static const char *fields;

static void add(struct figures *f, double v) {
    if (f->n == f->room) {
        f->room = f->room ? 2 * f->room : 1024;
        f->v = realloc(f->v, f->room * sizeof *f->v);
        if (!f->v) die("out of memory");
    }
    f->v[f->n++] = v;
}

static int smaller_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, struct figures *f) {
    if (f->n) qsort(f->v, f->n, sizeof *f->v, smaller_first);
    printf("%s_p50 %.3f\n", name, f->n ? f->v[f->n / 2] : 0);
    printf("%s_p99 %.3f\n", name, f->n ? f->v[f->n * 99 / 100] : 0);
}

/* ---- a request ---- */

struct stream {
    double began, last, *gaps;
    int events;
    long prompt, tokens;
    bool done, wrong, is_long;
};

/* A gap that began while a long prompt was being read. */
static void tell_gap(const struct stream *s, double gap) {
    pthread_mutex_lock(&lock);
    if (window > 0 && !s->is_long && s->last > window) add(&beside, gap);
    pthread_mutex_unlock(&lock);
}

static long number_after(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at ? strtol(at + strlen(name), NULL, 10) : 0;
}

/* An event of the stream that says something: text, the counts, or the end; an error may come as a
 * whole answer. */
static void take_line(struct stream *s, const char *line, double at, int room) {
    if (!strncmp(line, "data: [DONE]", 12)) s->done = true;
    if (strstr(line, "\"error\"")) {
        s->wrong = true;
        fprintf(stderr, "etload: %.200s\n", line);
    }
    const char *text = strstr(line, "\"text\":\"");
    if (text && text[8] != '"' && s->events < room) {
        double gap = at - (s->last > 0 ? s->last : s->began);
        if (s->events) tell_gap(s, gap);
        s->gaps[s->events++] = gap;
        s->last = at;
    }
    if (!strstr(line, "\"usage\":{")) return;
    s->prompt = number_after(line, "\"prompt_tokens\":");
    s->tokens = number_after(line, "\"completion_tokens\":");
}

/* Lines as they come; what is not whole yet waits for the rest. */
static void read_stream(int fd, struct stream *s, int room) {
    char bytes[65536];
    size_t n = 0;
    for (ssize_t got; (got = recv(fd, bytes + n, sizeof bytes - n - 1, 0)) > 0;) {
        double at = now();
        n += (size_t)got;
        bytes[n] = 0;
        char *line = bytes;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            take_line(s, line, at, room);
        }
        n -= (size_t)(line - bytes);
        memmove(bytes, line, n);
        if (n == sizeof bytes - 1) die("a line is too long");
    }
    bytes[n] = 0;
    take_line(s, bytes, now(), room);
}

/* Words that no other request has, so that nothing of the prompt was read before. */
static void make_prompt(char *out, int n, unsigned *state) {
    for (int i = 0; i < n; i++)
        out[i] = (char)(i % 7 == 6 ? ' ' : 'a' + rand_r(state) % 26);
    out[n] = 0;
}

static int around(int about, unsigned *state) {
    return about - about / 4 + rand_r(state) % (about / 2 + 1);
}

/* LENGTH and MOST: characters of the prompt, tokens of the answer. */
static void ask(int length, int most, bool is_long, unsigned *state) {
    enum { HEAD = 512 };
    size_t room = (size_t)length + strlen(fields) + HEAD;
    char *body = malloc(room), *prompt = malloc((size_t)length + 1), head[HEAD];
    struct stream s = {.gaps = calloc((size_t)most + 1, sizeof *s.gaps), .is_long = is_long};
    if (!body || !prompt || !s.gaps) die("out of memory");
    make_prompt(prompt, length, state);
    int bytes = snprintf(body, room,
                         "{\"prompt\":\"%s\",\"max_tokens\":%d,\"ignore_eos\":true,\"stream\":true,"
                         "\"stream_options\":{\"include_usage\":true}%s%s}",
                         prompt, most, *fields ? "," : "", fields);
    int header = snprintf(head, sizeof head,
                          "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n",
                          bytes);
    s.began = now();
    int fd = open_connection();
    send_all(fd, head, (size_t)header);
    send_all(fd, body, (size_t)bytes);
    read_stream(fd, &s, most + 1);
    double ended = now();
    close(fd);
    pthread_mutex_lock(&lock);
    failed += s.wrong || !s.done || s.tokens != most;
    if (is_long) window = 0;
    if (is_long) printf("long %.3f\n", s.events ? s.gaps[0] : 0);
    if (s.events && !is_long) add(&firsts, s.gaps[0]);
    for (int i = 1; i < s.events && !is_long; i++)
        add(&gaps, s.gaps[i]);
    add(&wholes, ended - s.began);
    prompt_tokens += s.prompt;
    tokens += s.tokens;
    pthread_mutex_unlock(&lock);
    free(body);
    free(prompt);
    free(s.gaps);
}

static void *client(void *user) {
    (void)user;
    for (;;) {
        pthread_mutex_lock(&lock);
        long mine = next++;
        pthread_mutex_unlock(&lock);
        if (mine >= requests) return NULL;
        unsigned state = (unsigned)(seed * 1000003 + (unsigned long)mine);
        int length = around(prompt_about, &state), most = around(answer_about, &state);
        ask(length, most, false, &state);
    }
}

/* A prompt of LENGTH characters comes when the clients have gone on for a while, and ends them. */
static void come_between(int length) {
    const struct timespec while_ = {2, 0};
    unsigned state = (unsigned)seed;
    nanosleep(&while_, NULL);
    pthread_mutex_lock(&lock);
    print("alone", &gaps);
    window = now();
    pthread_mutex_unlock(&lock);
    ask(length, 1, true, &state);
    pthread_mutex_lock(&lock);
    requests = next;
    print("beside", &beside);
    pthread_mutex_unlock(&lock);
}

/* LENGTH: of a prompt that comes between; 0: none does. */
static int ask_all(long clients, int length) {
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    if (!threads) die("out of memory");
    double began = now();
    for (long i = 0; i < clients; i++)
        if (pthread_create(&threads[i], NULL, client, NULL) != 0) die("cannot start a thread");
    if (length) come_between(length);
    for (long i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    double seconds = (now() - began) * 1e-3;
    free(threads);
    printf("requests %ld\nfailed %ld\nseconds %.3f\nprompt_tokens %ld\ntokens %ld\n", requests,
           failed, seconds, prompt_tokens, tokens);
    printf("tokens_per_second %.1f\n", (double)tokens / seconds);
    print("first", &firsts);
    print("gap", &gaps);
    print("request", &wholes);
    free(firsts.v);
    free(gaps.v);
    free(beside.v);
    free(wholes.v);
    return failed ? 1 : 0;
}

static long positive(const char *text, long most) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*end || n < 1 || n > most) die("a number is no number, or too large");
    return n;
}

int main(int argc, char **argv) {
    int port;
    if (argc < 4 || sscanf(argv[1], "http://127.0.0.1:%d", &port) != 1)
        die("http://127.0.0.1:PORT get PATH, or ask CLIENTS REQUESTS PROMPT ANSWER SEED [FIELDS]");
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!strcmp(argv[2], "get") && argc == 4) return get(argv[3]);
    bool between = !strcmp(argv[2], "beside");
    if ((!between && strcmp(argv[2], "ask") != 0) || argc < 8 || argc > 9) die("no such mode");
    long second = positive(argv[4], 1000000);
    requests = between ? 1000000 : second;
    prompt_about = (int)positive(argv[5], 100000);
    answer_about = (int)positive(argv[6], 100000);
    seed = (unsigned long)positive(argv[7], 1000000000);
    fields = argc == 9 ? argv[8] : "";
    return ask_all(positive(argv[3], 1000), between ? (int)second : 0);
}
