/* parse.h - what the files that read a manifest share. */
#ifndef ETRT_MANIFEST_PARSE_H
#define ETRT_MANIFEST_PARSE_H

#include "runtime/etrt/base/json.h"
#include "runtime/etrt/manifest/manifest.h"

enum { ETRT_MAX_SYMBOLS = 256 };

struct etrt_parser {
    struct etrt_manifest *m;
    const char *names[ETRT_MAX_SYMBOLS]; /* of the symbols */
    int64_t upper[ETRT_MAX_SYMBOLS];
};

/* A dimension, an integer or text in reverse Polish over the symbols. */
etrt_status etrt_parse_dim(struct etrt_parser *, const struct etrt_json_at *, json_t *,
                           struct etrt_expr *out);
/* Array KEY of them, of ETRT_MAX_RANK at most. */
etrt_status etrt_parse_dims(struct etrt_parser *, const struct etrt_json_at *up, json_t *object,
                            const char *key, struct etrt_expr *out, int *out_rank);
/* A copy of a string member. */
etrt_status etrt_parse_copy(const struct etrt_json_at *, json_t *object, const char *key,
                            char **out);
/* "source", "loops" and "order" of a weight whose shape is known. */
etrt_status etrt_parse_weight(const struct etrt_json_at *, json_t *object, struct etrt_tensor *);
/* "host", "zeros" and "packed" of a weight of this SHAPE, and "cut" of any tensor, where they are.
 */
etrt_status etrt_parse_host(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *,
                            const int64_t *shape);
etrt_status etrt_parse_zeros(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *,
                             const int64_t *shape);
etrt_status etrt_parse_packed(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *,
                              const int64_t *shape);
etrt_status etrt_parse_cut(const struct etrt_parser *, const struct etrt_json_at *, json_t *object,
                           struct etrt_tensor *);
/* "kernels" and "sequences", where they are. */
etrt_status etrt_parse_sequences(struct etrt_parser *, json_t *root);

#endif
