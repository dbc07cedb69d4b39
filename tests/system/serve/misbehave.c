/* Clients that misbehave. */
#include "tests/system/serve/client.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Is the connection closed within SECONDS? */
static bool closed_within(int fd, int limit) {
    struct timeval t = {.tv_sec = limit};
    char byte[512];
    ssize_t n;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    while ((n = recv(fd, byte, sizeof byte, 0)) > 0) {
    }
    return n == 0 || errno == ECONNRESET;
}

int slow(void) {
    static const char *const beginnings[] = {
        "", "POST /v1/comp", "POST /v1/completions HTTP/1.1\r\nContent-Le",
        "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{\"prompt"};
    int fds[5];
    for (int i = 0; i < 4; i++) {
        fds[i] = open_connection();
        send_all(fds[i], beginnings[i], strlen(beginnings[i]));
    }
    /* One sends a byte of a header now and then, for ever. */
    fds[4] = open_connection();
    send_all(fds[4], "GET / HTTP/1.1\r\nX: ", 19);
    bool open = true;
    for (int i = 0; open && i < 40; i++) {
        usleep(150000);
        open = send_all(fds[4], "x", 1);
    }
    if (open) die("a byte now and then keeps a connection");
    for (int i = 0; i < 4; i++)
        if (!closed_within(fds[i], 8)) die("who says nothing keeps a connection");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    return 0;
}

int garbage(void) {
    srandom(3);
    for (int i = 0; i < 60; i++) {
        unsigned char bytes[600];
        double first;
        int n = (int)(random() % 600), fd = open_connection(), status = 0;
        for (int k = 0; k < n; k++)
            bytes[k] = (unsigned char)random();
        if (i % 3 == 0)
            n = snprintf((char *)bytes, sizeof bytes,
                         "POST /v1/completions HTTP/1.%d\r\nContent-Length: %s\r\n\r\n{}", i % 10,
                         i % 2 ? "-5" : "99999999999999999999999");
        if (i % 3 == 1) memcpy(bytes, "GET /%zz\0 HTTP/1.1\r\n\r\n", n < 22 ? (size_t)n : 22);
        send_all(fd, (char *)bytes, (size_t)n);
        shutdown(fd, SHUT_WR);
        char *answer = read_all(fd, &first);
        if (sscanf(answer, "HTTP/1.%*d %d", &status) == 1 && (status < 400 || status >= 500) &&
            status != 505)
            die("rubbish is answered otherwise than with 4xx");
        free(answer);
        close(fd);
    }
    return 0;
}

/* A client that says no more once it has asked, which is not one that has left: it is told all. */
int half(void) {
    static const char body[] =
        "{\"prompt\":\"Once\",\"max_tokens\":30,\"ignore_eos\":true,\"stream\":true}";
    char head[256];
    double first;
    int fd = open_connection();
    snprintf(head, sizeof head,
             "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n",
             sizeof body - 1);
    if (!send_all(fd, head, strlen(head)) || !send_all(fd, body, sizeof body - 1))
        die("cannot send");
    /* The library is to see the request before its end, which may come in one piece with it. */
    usleep(100000);
    shutdown(fd, SHUT_WR);
    char *answer = read_all(fd, &first);
    if (!strstr(answer, "data: [DONE]")) die("who says no more is not answered to the end");
    free(answer);
    close(fd);
    return 0;
}

/* They keep their own side open, or the end would be seen without the server's looking for it. */
int ends(long n) {
    static const char *const beginnings[] = {
        "", "G", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"};
    for (long i = 0; i < n; i += 20) {
        int fds[20];
        for (int k = 0; k < 20; k++) {
            fds[k] = open_connection();
            send_all(fds[k], beginnings[k % 4], strlen(beginnings[k % 4]));
            shutdown(fds[k], SHUT_WR);
        }
        for (int k = 0; k < 20; k++) {
            if (!closed_within(fds[k], 10)) die("who ends before it asked keeps a connection");
            close(fds[k]);
        }
    }
    return 0;
}

int crowd(long most) {
    enum { MORE = 10, ALL = 1000 };
    int fds[ALL], closed = 0;
    if (most + MORE > ALL) die("too many");
    for (long i = 0; i < most + MORE; i++)
        fds[i] = open_connection();
    usleep(300000);
    for (long i = 0; i < most + MORE; i++) {
        char byte;
        ssize_t n = recv(fds[i], &byte, 1, MSG_DONTWAIT);
        closed += n == 0 || (n < 0 && errno == ECONNRESET);
        close(fds[i]);
    }
    if (closed < MORE) die("an address has more connections than it may");
    return 0;
}

/* Standard input to the server, and the first N lines that come back. */
int lines(long n) {
    char bytes[4096];
    int fd = open_connection();
    size_t got = fread(bytes, 1, sizeof bytes, stdin);
    if (!send_all(fd, bytes, got)) die("cannot send");
    while (n > 0 && recv(fd, bytes, 1, 0) == 1) {
        putchar(bytes[0]);
        n -= bytes[0] == '\n';
    }
    close(fd);
    return n ? 1 : 0;
}
