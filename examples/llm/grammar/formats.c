/* Strings of a format, as expressions; what they take is what pydantic takes too. */
#include "examples/llm/grammar/schema.h"
#include <string.h>

#define YEAR "(\\d{3}[1-9]|\\d\\d[1-9]0|\\d[1-9]00|[1-9]000)"
#define LEAP "(\\d\\d([2468][048]|0[48]|[13579][26])|([2468][048]|0[48]|[13579][26])00)"
#define DATE                                                                                       \
    "(" YEAR "-((0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31" \
    ")|" LEAP "-02-29)"
#define TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define HEX(n) "[0-9a-fA-F]{" #n "}"
#define UUID(version) HEX(8) "-" HEX(4) "-" version HEX(3) "-[89abAB]" HEX(3) "-" HEX(12)
#define LABEL "[a-zA-Z0-9]{1,20}(-[a-zA-Z0-9]{1,20}){0,2}"
#define DOMAIN "(" LABEL "\\.){1,4}[a-z]{2,12}"
#define BYTE "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"

static const struct {
    const char *name, *takes, *but_not;
} formats[] = {
    {"date", DATE, NULL},
    {"time", TIME, NULL},
    {"date-time", DATE "T" TIME, NULL},
    /* No time of more than a day or month, which differ in length. */
    {"duration",
     "P(\\d{1,4}DT\\d{1,2}H\\d{1,2}M\\d{1,2}S|\\d{1,4}D|T\\d{1,2}H\\d{1,2}M\\d{1,2}S|T\\d"
     "{1,4}S)",
     NULL},
    {"email", "[a-zA-Z0-9_]{1,20}([.+-][a-zA-Z0-9_]{1,14}){0,2}@" DOMAIN,
     "\\.(arpa|invalid|local|localhost|onion|test)$"},
    {"hostname", DOMAIN, NULL},
    {"uri", "https?://" DOMAIN "(/[a-zA-Z0-9_.~-]*)*", NULL},
    {"ipv4", "(" BYTE "\\.){3}" BYTE, NULL},
    {"ipv6", "([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}", NULL},
    {"uuid", HEX(8) "-" HEX(4) "-" HEX(4) "-" HEX(4) "-" HEX(12), NULL},
    {"uuid1", UUID("1"), NULL},
    {"uuid3", UUID("3"), NULL},
    {"uuid4", UUID("4"), NULL},
    {"uuid5", UUID("5"), NULL},
    {"password", NULL, NULL}, /* any string */
};

struct machine *format_machine(const char *format, char *err) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const char *takes = formats[i].takes, *but_not = formats[i].but_not;
        if (strcmp(formats[i].name, format)) continue;
        if (!takes) return machine_length(0, -1);
        struct machine *in = machine_regex(takes, strlen(takes), true, err);
        struct machine *out = but_not ? machine_regex(but_not, strlen(but_not), false, err) : NULL;
        if (out) in = machine_without(in, out);
        machine_free(out);
        if (!in) llm_fail(err, "it is too large");
        return in;
    }
    llm_fail(err, "'%.80s' is not supported", format);
    return NULL;
}
