/* For which names a request may be, and which pages may ask. A name that somebody else made mean
 * this address (DNS rebinding) is what a browser takes for the same origin: only names that are
 * known to be of this server are taken. */
#include "examples/llm/serve/server.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The name without its port, and without the brackets of an address. False: it is none. */
static bool name_of(const char *host, char *out, size_t bytes) {
    bool bracket = *host == '[';
    size_t n = bracket ? strcspn(++host, "]") : strcspn(host, ":");
    const char *rest = host + n;
    if (bracket && *rest++ != ']') return false;
    if (n >= bytes || (*rest && *rest != ':')) return false;
    if (*rest == ':' && strspn(rest + 1, "0123456789") != strlen(rest + 1)) return false;
    memcpy(out, host, n);
    out[n] = 0;
    return n > 0;
}

static bool is_address(const char *name) {
    unsigned char a[16];
    return inet_pton(AF_INET, name, a) == 1 || inet_pton(AF_INET6, name, a) == 1;
}

static bool is_local(const char *name) {
    return !strcasecmp(name, "localhost") || !strncmp(name, "127.", 4) || !strcmp(name, "::1");
}

/* An address means itself, whoever says so: no name is behind it that could be made to mean
 * another. It must be one that is listened to, or any where all are. */
bool hosts_allow(const struct server *s, const char *host) {
    const struct serve_options *o = s->o;
    char name[256];
    if (!host) return true; /* HTTP/1.0, which no browser speaks */
    if (o->unix_path) return true;
    if (!name_of(host, name, sizeof name)) return false;
    for (int i = 0; i < o->nhosts; i++)
        if (!strcmp(o->hosts[i], "*") || !strcasecmp(o->hosts[i], name)) return true;
    bool all = !strcmp(o->host, "0.0.0.0") || !strcmp(o->host, "::");
    if (!strcasecmp(o->host, name)) return true;
    if (is_local(name) && (is_address(name) || !strcasecmp(name, "localhost")))
        return all || is_local(o->host);
    return all && is_address(name);
}

bool hosts_target(const char *target, char *authority, size_t bytes, const char **out_path) {
    size_t scheme = !strncasecmp(target, "http://", 7)   ? 7
                    : strncasecmp(target, "https://", 8) ? 0
                                                         : 8;
    size_t n = scheme ? strcspn(target += scheme, "/") : 0;
    *authority = 0;
    *out_path = target[n] ? target + n : "/";
    if (!scheme) return true;
    if (!n || n >= bytes || memchr(target, '@', n)) return false;
    memcpy(authority, target, n);
    authority[n] = 0;
    return true;
}

const char *hosts_origin(const struct server *s, const char *origin) {
    const char *cors = s->o->cors;
    if (!cors || !origin) return NULL;
    if (!strcmp(cors, "*")) return cors;
    return !strcmp(cors, origin) ? cors : NULL;
}
