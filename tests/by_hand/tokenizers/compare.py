"""compare.py READ FIRST COUNT: COUNT random tokenizer.json files (drawn.py), from the seed FIRST on, read by the program READ and by
Hugging Face's tokenizers: what is loaded by both must give the same ids of texts, and the same text of ids. Prints what is refused,
and whatever differs; ends with 1 where something does."""
import collections, json, os, random, re, subprocess, sys, tempfile
from tokenizers import Tokenizer
import drawn

TEXTS = 40


def attempt(call):
    try:
        return call()
    except BaseException:  # the library panics on some files and texts
        return None


def left_out(made, library):
    """What the library does by the order of a hash table: two added tokens that are the same when normalised."""
    keys = [(a["normalized"], library.normalizer.normalize_str(a["content"]) if a["normalized"] and library.normalizer else a["content"])
            for a in made["added_tokens"]]
    return len(set(keys)) < len(keys) or any(not key for _, key in keys)


def renamed(made, library):
    """A special token whose name normalisation changes: the library shows it where there are to be none."""
    return any(a["special"] and a["normalized"] and library.normalizer
               and library.normalizer.normalize_str(a["content"]) != a["content"] for a in made["added_tokens"])


def compare(made, library, asked, rows, say):
    for one, (whole, bare) in zip(asked, rows):
        if isinstance(one, str):
            want = attempt(lambda: [library.encode(one).ids, library.encode(one, add_special_tokens=False).ids])
            if want and [whole, bare] != want:
                say(one, [whole, bare], want)
        else:
            want = attempt(lambda: [library.decode(one), library.decode(one, skip_special_tokens=False)])
            # Bytes that are no characters are shown in another way, as designs/README.md tells.
            if want and "\ufffd" not in want[1] + bare and (bare != want[1] or (whole != want[0] and not renamed(made, library))):
                say(one, [whole, bare], want)


def main(read, first, count):
    refused, files, texts, bad = collections.Counter(), 0, 0, 0
    for seed in range(first, first + count):
        r = random.Random(seed)
        made, names, size = drawn.make(r)
        asked = [drawn.text(r, names) for _ in range(TEXTS)]
        asked += [[r.randrange(size) for _ in range(r.randint(0, 8))] for _ in range(TEXTS // 3)]
        with tempfile.TemporaryDirectory() as folder:
            for name, value in (("tokenizer", made), ("texts", asked)):
                with open(os.path.join(folder, name + ".json"), "w") as f:
                    json.dump(value, f)
            answer = json.loads(subprocess.run([read, folder], capture_output=True, text=True, check=True).stdout)
        library = attempt(lambda: Tokenizer.from_str(json.dumps(made)))
        if "refused" in answer and library:
            refused[re.sub(r"\d+", "N", answer["refused"].split("tokenizer.json: ")[-1])[:80]] += 1
        if "refused" in answer or not library or left_out(made, library):
            continue
        files, texts = files + 1, texts + len(asked)

        def say(one, ours, theirs):
            nonlocal bad
            bad += 1
            print(f"seed {seed}: {one!a}: {ours!a}, not {theirs!a}")
        compare(made, library, asked, answer["rows"], say)
    for why, n in refused.most_common():
        print(f"{n:6} {why}")
    print(f"{files} files, {texts} texts, {sum(refused.values())} files refused, {bad} differ")
    return bad != 0


sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
