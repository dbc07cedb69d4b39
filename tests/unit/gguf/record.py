#!/usr/bin/env python3
"""Writes tests/unit/gguf/recorded.json: what Hugging Face's libraries read in folders that etgguf writes.

    python3 tests/unit/gguf/record.py ETGGUF     # with tokenizers and transformers

Vocabularies are made up: with tokens of every type in any place, bytes that are missing, pieces with scores or merges of every
way to split. Each becomes a GGUF file, etgguf makes a folder of it, and both libraries must read texts alike. Recorded are the
vocabulary as the file has it, and the ids of texts, with and without what is put around them; check_recorded.c compares.
"""
import json, os, random, struct, subprocess, sys, tempfile
from tokenizers import Tokenizer
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
SPLITTINGS = "gpt-2 llama-bpe qwen2 deepseek-r1-qwen smaug-bpe starcoder tekken gpt-4o".split()
PIECES = ["a", "b", "ab", "abc", "bet", "abab", " ", "  ", "\n", "\n\n", "\r\n", "\t", "1", "23", "'s", "'LL", "é", "e\u0301", "漢", "😀",
          "!", "/", "<s>", "</s>", "<|endoftext|>", "<|im_end|>", "<tool>", "stop", " stop", "▁", "▁the", " the", "Ġ", "Ġthe", "<0x0A>",
          "[x]", "\xa0", "<mask>", "<unk>", "t", "s", "e", " a", " b"]


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def field(key, kind, value):
    packed = text(value) if kind == 8 else struct.pack("<?", value) if kind == 7 else struct.pack("<I", value)
    return text(key) + struct.pack("<I", kind) + packed


def array(key, kind, items, packed):
    return text(key) + struct.pack("<IIQ", 9, kind, len(items)) + packed


def gguf(v):
    tokens = v["tokens"]
    n = len(tokens)
    fields = [field("general.architecture", 8, "llama"), field("tokenizer.ggml.model", 8, "gpt2" if "merges" in v else "llama")]
    fields += [field("llama." + k, 4, x) for k, x in (("context_length", 64), ("embedding_length", 4), ("block_count", 1),
                                                      ("feed_forward_length", 4), ("attention.head_count", 1))]
    fields.append(text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5))
    fields.append(array("tokenizer.ggml.tokens", 8, tokens, b"".join(text(t) for t in tokens)))
    fields.append(array("tokenizer.ggml.scores", 6, tokens, struct.pack(f"<{n}f", *v["scores"])))
    fields.append(array("tokenizer.ggml.token_type", 5, tokens, struct.pack(f"<{n}i", *v["types"])))
    if "merges" in v:
        fields.append(array("tokenizer.ggml.merges", 8, v["merges"], b"".join(text(m) for m in v["merges"])))
    for key, value in v["fields"].items():
        fields.append(field("tokenizer.ggml." + key, 8 if isinstance(value, str) else 7 if isinstance(value, bool) else 4, value))
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(fields)) + b"".join(fields)
    head += text("token_embd.weight") + struct.pack("<IQQIQ", 2, 4, n, 30, 0)
    return head + bytes(-len(head) % 32 + 8 * n)


def insert(r, v, extra, chance):
    for token, kind in extra:
        if r.random() < chance and token not in v["tokens"]:
            if r.random() < 0.2:
                kind = r.choice([1, 3, 4, 5])
            at = r.choice([len(v["tokens"]), r.randint(3, len(v["tokens"]))])
            v["tokens"].insert(at, token), v["types"].insert(at, kind)


def name_tokens(r, v):
    """What the file calls bos, eos, padding and so on may be any token, of any type."""
    special = [i for i, t in enumerate(v["types"]) if t == 3] or [0]
    for key in ("bos", "eos", "padding", "unknown", "eot", "seperator", "fim_pre"):
        if f"{key}_token_id" not in v["fields"] and r.random() < 0.7:
            v["fields"][f"{key}_token_id"] = r.choice(special) if r.random() < 0.7 else r.randrange(len(v["tokens"]))


def with_scores(r):
    v = {"tokens": ["<unk>", "<s>", "</s>"], "types": [2, 3, 3]}
    if r.random() < 0.6:
        v["tokens"] += [f"<0x{i:02X}>" for i in range(256)]
        v["types"] += [6] * 256
    words = {c.replace(" ", "▁") for c in "abcdeést .,!12\n\t漢😀<>|_▁" if r.random() < 0.9}
    for _ in range(r.randint(10, 60)):
        w = r.choice(sorted(words)) + r.choice(sorted(words))
        if len(w) < 12:
            words.add(w)
    v["tokens"] += sorted(words)
    v["types"] += [1] * len(words)
    insert(r, v, [("<|im_end|>", 3), ("<tool>", 4), ("ab", 4), ("▁the", 4), ("  ", 4), ("[x]", 5), ("\n\n", 4), ("<mask>", 3), ("stop", 3)], 0.6)
    v["scores"] = [0.0 if t not in (1, 5) else float(-r.randint(1, 60)) for t in v["types"]]
    v["fields"] = {"bos_token_id": 1, "eos_token_id": 2} if r.random() < 0.5 else {}
    name_tokens(r, v)
    for key, chance in (("add_bos_token", 0.5), ("add_eos_token", 0.3), ("add_space_prefix", 0.5)):
        if r.random() < chance:
            v["fields"][key] = r.random() < 0.5
    return v


def with_merges(r, splitting):
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    of = {b: chr(b) for b in letters}
    of.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in of)})
    v = {"tokens": [of[b] for b in range(256) if r.random() < 0.97], "merges": []}
    pool = ["".join(of[b] for b in x.encode()) for x in ["a", "b", "e", "t", " ", "s", "'", "1", "2", "!", "\n", "é", "漢"]]
    pool = [c for x in pool for c in x if c in v["tokens"]]
    for _ in range(r.randint(20, 150)):
        a, b = r.choice(pool), r.choice(pool)
        if len(a + b) < 10 and a + b not in v["tokens"]:
            v["merges"].append(f"{a} {b}"), v["tokens"].append(a + b), pool.append(a + b)
    v["types"] = [1] * len(v["tokens"])
    insert(r, v, [("<|im_end|>", 3), ("<|endoftext|>", 3), ("<tool>", 4), ("abc", 4), ("stop", 3), ("Ġthe", 4), (" the", 4), ("\n\n", 4),
                  ("[x]", 5), ("abab", 3), ("bet", 3)], 0.7)
    v["scores"] = [0.0] * len(v["tokens"])
    v["fields"] = {"pre": splitting}
    name_tokens(r, v)
    for key in ("add_bos_token", "add_eos_token"):
        if r.random() < 0.5:
            v["fields"][key] = r.random() < 0.5
    return v


def main(etgguf):
    out = []
    for seed in range(24):
        r = random.Random(seed)
        v = with_merges(r, SPLITTINGS[seed // 2 % 8]) if seed % 2 else with_scores(r)
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/x.gguf", "wb") as f:
                f.write(gguf(v))
            subprocess.check_call([etgguf, f"{folder}/x.gguf", "-o", f"{folder}/made"])
            plain, auto = Tokenizer.from_file(f"{folder}/made/tokenizer.json"), AutoTokenizer.from_pretrained(f"{folder}/made")
        v["texts"] = []
        for _ in range(30):
            t = "".join(r.choice(PIECES) for _ in range(r.randint(1, 8)))
            ids, bare = plain.encode(t).ids, plain.encode(t, add_special_tokens=False).ids
            assert auto(t).input_ids == ids and auto(t, add_special_tokens=False).input_ids == bare, (seed, t)
            assert auto.decode(ids) == plain.decode(ids, skip_special_tokens=False), (seed, t)
            assert auto.decode(ids, skip_special_tokens=True) == plain.decode(ids), (seed, t)
            v["texts"].append([t, ids, bare])
        out.append(v)
    with open(f"{HERE}/recorded.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(v, separators=(",", ":"), ensure_ascii=False) for v in out) + "\n]\n")


main(sys.argv[1])
