# tokenizer.awk -v n=N: a byte-level tokenizer of N tokens without merges, as a tokenizer.json: a text has as many tokens as bytes, and every
# token beyond the first 256 is a word, so that each has a text of its own.
function name(i,  c) {
    c = ""
    for (; i > 0; i = int((i - 1) / 26)) c = sprintf("%c", 97 + (i - 1) % 26) c
    return "\\u0120" c
}
BEGIN {
    printf "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,"
    level = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"
    printf "\"pre_tokenizer\":%s,\"post_processor\":null,\"decoder\":%s,\"model\":{\"type\":\"BPE\",\"dropout\":null,", level, level
    printf "\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
    printf "\"byte_fallback\":false,\"ignore_merges\":false,\"vocab\":{"
    for (i = 0; i < 256 && i < n; i++) {
        shown = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174
        printf "%s\"\\u%04x\":%d", i ? "," : "", shown ? i : 256 + others++, i
    }
    for (; i < n; i++) printf ",\"%s\":%d", name(i - 255), i
    print "},\"merges\":[]}}"
}
