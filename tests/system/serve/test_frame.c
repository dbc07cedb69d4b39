/* Requests as they are framed: what is right, what is refused and with which status, and the same
 * however the bytes are cut. */
#include "examples/llm/serve/frame.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "POST /x HTTP/1.1\r\nHost: a\r\n"
#define TEXT(s) s, sizeof(s) - 1

static const struct {
    const char *bytes;
    size_t n;
    int status;
    size_t whole; /* bytes of the requests that are right */
} cases[] = {
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0, 27},
    {TEXT("\r\nGET / HTTP/1.0\r\n\r\n"), 0, 20},
    {TEXT(HEAD "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0, 78},
    {TEXT(HEAD "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n"), 0, 80},
    {TEXT(HEAD "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400, 0},
    {TEXT(HEAD "Content-Length : 3\r\n\r\nabc"), 400, 0},
    {TEXT(HEAD "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Content-Length: 5x\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Content-Length: +5\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Content-Length: 5, 5\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Content-Length:\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Content-Length: 99999999999999999999999\r\n\r\n"), 413, 0},
    {TEXT(HEAD "Transfer-Encoding: gzip\r\n\r\n"), 501, 0},
    {TEXT(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501, 0},
    {TEXT(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Transfer-Encoding: chunked\r\n\r\nx\r\n"), 400, 0},
    {TEXT(HEAD "Transfer-Encoding: chunked\r\n\r\n3\nabc"), 400, 0},
    {TEXT(HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd"), 400, 0},
    {TEXT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, 0},
    {TEXT("GET / HTTP/1.1\r\n\r\n"), 400, 0},
    {TEXT(HEAD "Host: b\r\n\r\n"), 400, 0},
    {TEXT("GET / HTTP/1.1\nHost: a\n\n"), 400, 0},
    {TEXT(HEAD "A: b\nC: d\r\n\r\n"), 400, 0},
    {TEXT(HEAD "A: b\rC: d\r\n\r\n"), 400, 0},
    {TEXT(HEAD "A: b\0c\r\n\r\n"), 400, 0},
    {TEXT(HEAD "A: b\r\n c\r\n\r\n"), 400, 0},
    {TEXT(HEAD "A\r\n\r\n"), 400, 0},
    {TEXT("GET  / HTTP/1.1\r\n"), 400, 0},
    {TEXT("GET /a b HTTP/1.1\r\n"), 400, 0},
    {TEXT("GET /a%00b HTTP/1.1\r\n"), 400, 0},
    {TEXT("GET /a%0ab%200%%000 HTTP/1.1\r\n"), 400, 0},
    {TEXT("GET /a%0Ab%200 HTTP/1.1\r\nHost: a\r\n\r\n"), 0, 36},
    {TEXT("GET / HTTP/2.0\r\n"), 400, 0},
    {TEXT("GET / HTTP/1.2\r\n"), 505, 0},
    {TEXT("GET /\r\n"), 400, 0},
    {TEXT("\x16\x03\x01"), 400, 0},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 400, 27},
};

/* In pieces of up to MOST bytes. Returns how many bytes were passed on. */
static size_t feed(struct frame *f, const char *bytes, size_t n, size_t most) {
    size_t passed = 0;
    for (size_t at = 0; at < n && !f->status;) {
        size_t some = n - at < most ? n - at : most;
        passed += frame_take(f, bytes + at, some);
        at += some;
    }
    return passed;
}

START_TEST(is_framed) {
    size_t i = (size_t)_i;
    for (size_t most = 1; most <= cases[i].n; most++) {
        struct frame f = {0};
        size_t passed = feed(&f, cases[i].bytes, cases[i].n, most);
        ck_assert_msg(f.status == cases[i].status, "case %zu: %d (%s)", i, f.status,
                      f.why ? f.why : "");
        ck_assert(!f.status == !f.why);
        if (!f.status) ck_assert_uint_eq(passed, cases[i].n);
        if (most == cases[i].n) ck_assert_msg(passed == cases[i].whole, "case %zu: %zu", i, passed);
        if (!f.status) ck_assert(!f.begun);
    }
}
END_TEST

/* Once it is wrong nothing is right any more. */
START_TEST(stays_wrong) {
    struct frame f = {0};
    frame_take(&f, TEXT("GET / HTTP/1.1\n"));
    ck_assert_uint_eq(frame_take(&f, TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 0);
    ck_assert_int_eq(f.status, 400);
}
END_TEST

int main(void) {
    Suite *s = suite_create("frame");
    TCase *t = tcase_create("frame");
    tcase_add_loop_test(t, is_framed, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(t, stays_wrong);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
