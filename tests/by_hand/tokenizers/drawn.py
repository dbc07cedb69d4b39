"""Random tokenizer.json files: every normalizer, pre_tokenizer, model, decoder, post_processor, added tokens of every kind.
make(random) gives one and the texts of its added tokens; text(random, them) a text."""
CHARACTERS = ["a", "b", "c", "d", "e", "A", "B", "É", "é", "e\u0301", "ß", "İ", "漢", "字", "😀", "1", "23", "٣", "²", "½", ".", ",", "!", "'", "'s",
              "n't", "-", "_", "<", ">", "|", "/", "$", " ", "  ", "\t", "\n", "\r\n", "\n\n", "\xa0", "\u3000", "▁", "\u200d", "\ufeff", "\x00",
              "\x7f", "\u0085", "ﬁ", "Å", "\u1100\u1161", "क्षि", "ไทย", "\u2028", "\ufffd", "ａ", "①", "the", "ab", "abc", "do not", "<s>", "</s>",
              "[MASK]", "<unk>", "<x>", "tok", "<0x0A>", "Ω", "Σας", "ǅ", "\u0345", "\u180e", "ⅷ", "\u00ad"]
ADDED = ["<s>", "</s>", "[MASK]", "<x>", "tok", "a", "ab", " ", "the", "  ", "\n", " the", "É", "é", "<|im|>", "▁", "b ", "字", "e\u0301", "<unk>",
         "\n\n", "."]
EXPRESSIONS = [r"\s+", r"\p{L}+", r" ?\p{L}+| ?\p{N}+|\s+", r"[^\s]+", r"a|b", r"\d", r"\w+|[^\w\s]+", r"(?i:'s|'t)|\p{L}+|\s+(?!\S)|\s+",
               r" {2,}", r"\s*[\r\n]+|\s+$|^a", r".", r"\b", r"x*", r"[\p{Lu}\p{M}]+", r"(?<=a)b", r"\p{Han}+", r"\S", r"\p{P}", r"[a-c&&[b]]",
               r"\h", r"(a)(b)?", r"$", r"^", r"\p{N}{1,3}", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"a?+b", r"[[:alpha:]]+"]
BEHAVIORS = ["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"]


def text(r, added):
    pool = CHARACTERS + (added * 4 if r.random() < 0.5 else added) + [" "] * 8
    return "".join(r.choice(pool) for _ in range(r.randint(0, 10)))


def maybe(r, chance=0.5):
    return r.random() < chance


def pattern(r):
    return r.choice([{"String": r.choice([" ", "a", "ab", "▁", "\n", "e\u0301", "  ", "!", "<s>"])}, {"Regex": r.choice(EXPRESSIONS)}])


def byte_level(r):
    return {"type": "ByteLevel", "add_prefix_space": maybe(r), "trim_offsets": maybe(r), "use_regex": maybe(r, 0.6)}


def metaspace(r):
    return {"type": "Metaspace", "replacement": r.choice(["▁", "▁", "_"]), "prepend_scheme": r.choice(["always", "never", "first"]), "split": maybe(r)}


def component(r, kinds, parts, depth=0):
    """One of KINDS, each a name and what makes its fields; or a Sequence with a list called PARTS; or nothing."""
    name = r.choice([*kinds, "Sequence", "Sequence", None] if depth < 2 else [*kinds])
    if name is None:
        return None if depth == 0 else component(r, kinds, parts, depth + 1)
    if name == "Sequence":
        return {"type": name, parts: [component(r, kinds, parts, depth + 1) for _ in range(r.randint(0, 3))]}
    return {"type": name, **kinds[name](r)}


def nothing(r):
    return {}


NORMALIZERS = {
    **{name: nothing for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")},
    "Prepend": lambda r: {"prepend": r.choice(["▁", "a", " ", "▁▁"])},
    "Replace": lambda r: {"pattern": pattern(r), "content": r.choice(["▁", " ", "", "xy", "a"])},
    "Strip": lambda r: {"strip_left": maybe(r), "strip_right": maybe(r)},
    "BertNormalizer": lambda r: {"clean_text": maybe(r), "handle_chinese_chars": maybe(r), "strip_accents": r.choice([None, True, False]),
                                 "lowercase": maybe(r)},
}
PRE_TOKENIZERS = {
    **{name: nothing for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")},
    "ByteLevel": byte_level, "Metaspace": metaspace,
    "CharDelimiterSplit": lambda r: {"delimiter": r.choice([" ", "a", "漢"])},
    "Punctuation": lambda r: {"behavior": r.choice(BEHAVIORS)},
    "Digits": lambda r: {"individual_digits": maybe(r)},
    "Split": lambda r: {"pattern": pattern(r), "behavior": r.choice(BEHAVIORS), "invert": maybe(r, 0.3)},
    "FixedLength": lambda r: {"length": r.randint(1, 5)},
}
DECODERS = {
    "ByteLevel": byte_level, "Metaspace": metaspace, "ByteFallback": nothing, "Fuse": nothing,
    "WordPiece": lambda r: {"prefix": r.choice(["##", ""]), "cleanup": maybe(r)},
    "Strip": lambda r: {"content": r.choice([" ", "▁", "a"]), "start": r.randint(0, 2), "stop": r.randint(0, 2)},
    "Replace": lambda r: {"pattern": pattern(r), "content": r.choice([" ", "", "x"])},
    "BPEDecoder": lambda r: {"suffix": "</w>"},
    "CTC": lambda r: {"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
}


def of_bytes():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + rest.index(b)) for b in range(256)]


def grown(r, alphabet):
    """Pieces made of two others, and the merges that make them."""
    pool = [c for c in alphabet if c in "abcdeĠ▁t h1<s>漢éĊč"] or list(alphabet)
    merges = []
    for _ in range(r.randint(0, 120)):
        a, b = r.choice(pool), r.choice(pool)
        if len(a + b) <= 10:
            merges.append([a, b])
            if a + b not in pool:
                pool.append(a + b)
    return pool, merges


def model(r, added):
    kind = r.choice(["BPE", "bytes", "bytes", "fallback", "Unigram", "WordPiece", "WordLevel"])
    letters = sorted({c for s in CHARACTERS for c in s if c != "\0"} | set("▁ĠĊ"))
    alphabet = [c for c in (of_bytes() if kind == "bytes" else letters) if maybe(r, 0.97)]
    pool, merges = grown(r, alphabet)
    inside = [s for s in added if maybe(r, 0.6)]
    names = [f"<0x{i:02X}>" for i in range(256)] if kind == "fallback" or (kind == "Unigram" and maybe(r, 0.4)) else []
    unknown = ["[UNK]"] if kind == "WordPiece" else ["<unk>"] if kind == "WordLevel" or maybe(r, 0.8) else []
    parts = ["##" + c for c in [*alphabet, *pool]] if kind == "WordPiece" else []
    pieces = list(dict.fromkeys(unknown + inside[:2] + names + alphabet + parts + pool + inside[2:]))
    ids = {piece: i for i, piece in enumerate(pieces)}
    if kind == "Unigram":
        return {"type": kind, "unk_id": 0 if unknown else None, "byte_fallback": maybe(r),
                "vocab": [[p, -float(r.randint(0, 400)) / r.choice([1, 7, 32])] for p in pieces]}
    if kind == "WordPiece":
        return {"type": kind, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": r.choice([100, 5, 1]), "vocab": ids}
    if kind == "WordLevel":
        return {"type": kind, "unk_token": "<unk>", "vocab": ids}
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>" if unknown and maybe(r, 0.8) else None, "continuing_subword_prefix": None,
            "end_of_word_suffix": r.choice([None, None, None, "", "</w>"]), "fuse_unk": maybe(r), "byte_fallback": kind == "fallback",
            "ignore_merges": maybe(r, 0.3), "vocab": ids, "merges": merges}


def post_processor(r, added):
    around = r.choice(added)
    behind = r.choice(added)
    kind = r.choice(["TemplateProcessing", "RobertaProcessing", "BertProcessing", "ByteLevel"])
    if kind == "ByteLevel":
        return byte_level(r)
    if kind != "TemplateProcessing":
        offsets = {"trim_offsets": maybe(r), "add_prefix_space": maybe(r)} if kind == "RobertaProcessing" else {}
        return {"type": kind, "sep": [behind["content"], behind["id"]], "cls": [around["content"], around["id"]], **offsets}
    special = lambda a: {"SpecialToken": {"id": a["content"], "type_id": 0}}
    return {"type": kind, "single": [special(around), {"Sequence": {"id": "A", "type_id": 0}}, special(behind)],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {a["content"]: {"id": a["content"], "ids": [a["id"]], "tokens": [a["content"]]} for a in (around, behind)}}


def make(r):
    names = r.sample(ADDED, r.randint(0, 8))
    made = model(r, names)
    ids = {p[0]: i for i, p in enumerate(made["vocab"])} if made["type"] == "Unigram" else made["vocab"]
    size, added = len(ids), []
    for name in names:
        id = ids.get(name, size)
        size += id == size
        added.append({"id": id, "content": name, "single_word": maybe(r, 0.25), "lstrip": maybe(r, 0.4), "rstrip": maybe(r, 0.4),
                      "normalized": maybe(r, 0.35), "special": maybe(r)})
    added.sort(key=lambda a: a["id"])
    cut = component(r, PRE_TOKENIZERS, "pretokenizers")
    decoder = component(r, DECODERS, "decoders")
    if "ByteLevel" in str(cut) and maybe(r, 0.8):
        decoder = byte_level(r)
    post = post_processor(r, added) if added and maybe(r, 0.4) else None
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": component(r, NORMALIZERS, "normalizers"), "pre_tokenizer": cut, "post_processor": post, "decoder": decoder,
            "model": made}, names, size
