/* client.h - what the files of serve_client share. */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

/* client.c */
_Noreturn void die(const char *what);
double now(void);
int open_connection(void); /* to the server; the caller closes it */
bool send_all(int fd, const char *data, size_t bytes);
/* All that comes until the other side closes; *OUT_FIRST: seconds until a text came. */
char *read_all(int fd, double *out_first);

struct answer {
    int status;
    char text[4096], finish[32];
    double seconds, first;
    long tokens;
};
/* BODY, an object, to /v1/completions. */
void request(const char *body, bool stream, struct answer *);
/* POST of BODY to PATH; the status, 0: none. */
int post(const char *path, const char *body, size_t bytes);
/* WORK(1), WORK(2)... in threads, until all are over. */
void run_threads(long clients, void *(*work)(void *));
int smaller_first(const void *a, const void *b); /* of doubles */

/* together.c: requests whose answers are known */
struct want {
    char body[512];
    char text[4096], finish[32];
};
extern struct want wants[];
extern int nwants;
void read_wants(const char *file);
bool is_wanted(const struct answer *, const struct want *); /* says what is not */
int together(long clients, long requests, const char *file);
int full(long clients);

/* misbehave.c */
int slow(void);
int garbage(void);
int half(void);
int ends(long n);
int crowd(long most);
int lines(long n);

/* attack.c, loading.c */
int attack(double seconds, long honest, double longer);
int loading(double seconds, long clients, const char *file);

#endif
