/* conform.h - the conformance tests of drivers: what they share, which is run once for every device
 * of a table; where one cannot do what another can (enum etrt_can), the same test expects what
 * follows from that. */
#ifndef RUNTIME_TEST_CONFORM_H
#define RUNTIME_TEST_CONFORM_H

#include "runtime/etrt.h"
#include "runtime/etrt/driver/driver.h"
#include "tests/unit/runtime/support.h"

#include <string.h>

enum { MAX_N = 1000 };

extern const char *probe; /* path of the code object */
extern const char *spec;  /* the device at hand, and its targets */
extern const char *target, *other_target;

#define ok(call)                                                                                   \
    do {                                                                                           \
        etrt_status status_ = (call);                                                              \
        ck_assert_msg(status_ == ETRT_OK, "%s: %s: %s", #call, etrt_status_name(status_),          \
                      etrt_last_error());                                                          \
    } while (0)
#define fails(status, part, call)                                                                  \
    do {                                                                                           \
        etrt_status status_ = (call);                                                              \
        ck_assert_msg(status_ == (status), "%s: %s, not " #status, #call,                          \
                      etrt_status_name(status_));                                                  \
        expect_in(etrt_last_error(), part);                                                        \
    } while (0)

extern etrt_device *device;
extern etrt_model *model;
extern etrt_session *session;
static const float w0 = 10.5f; /* the first weight */

bool can(enum etrt_can what);
/* Weights of the probe, of which SECOND is the second tensor, as JSON. */
void write_weights(const char *path, const char *second);
extern const char good_second[];

void open_model(void);
void open_session(void); /* with weights, nothing bound, and to end well */
void close_all(void);
/* N, and x for it; y after a launch of that; and s, which counts the launches since it was FROM. */
void bind_n(etrt_session *s, int n);
void check_y(etrt_session *s, int n);
void check_s(etrt_session *s, float from, int launches);

/* Main: the probes for AMD's GPUs and NVIDIA's; and a device, where not all shall be tried. ONCE,
 * or NULL, are tests that choose devices themselves. */
int conform(int argc, char **argv, void (*once)(TCase *), void (*add)(TCase *));

#endif
