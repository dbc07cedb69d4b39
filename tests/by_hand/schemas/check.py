"""check.py ANSWERS SUITE: schemas of the JSON-Schema-Test-Suite (a folder with tests/draft2020-12) through
the program ANSWERS; every answer must be valid by the package jsonschema. Prints what is refused, and why."""
import collections, json, pathlib, subprocess, sys
import jsonschema

def schemas(suite):
    for file in sorted(pathlib.Path(suite, "tests/draft2020-12").glob("*.json")):
        for case in json.loads(file.read_text()):
            yield file.stem, case["description"], case["schema"]

def key(why):
    return why.split(":")[0][:60]

def main():
    cases = list(schemas(sys.argv[2]))
    lines = "".join(json.dumps(schema) + "\n" for _, _, schema in cases)
    out = subprocess.run([sys.argv[1], "40"], input=lines, capture_output=True, text=True, check=True).stdout
    taken, refused, whys, bad, cut = collections.Counter(), collections.Counter(), {}, [], 0
    for (file, name, schema), line in zip(cases, out.split("\n")):
        answer = json.loads(line)
        if "refused" in answer:
            refused[file] += 1
            whys.setdefault(file, collections.Counter())[answer["refused"]] += 1
            continue
        taken[file] += 1
        check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        for text in answer["answers"]:
            if text is True:
                cut += 1
            elif text is False:
                bad.append((file, name, "no way on", schema))
            else:
                try:
                    value = json.loads(text)
                except ValueError:
                    bad.append((file, name, text, schema))
                    continue
                if not check.is_valid(value):
                    bad.append((file, name, text, schema))
    for file in sorted(set(taken) | set(refused)):
        print(f"{file:24} taken {taken[file]:3} refused {refused[file]:3}  " +
              "; ".join(f"{n}x {w}" for w, n in whys.get(file, {}).items())[:230])
    print(f"{sum(taken.values())} taken, {sum(refused.values())} refused, {len(bad)} wrong answers, {cut} cut")
    for b in bad[:12]:
        print("WRONG", *b)
    return len(bad) > 0

sys.exit(main())
