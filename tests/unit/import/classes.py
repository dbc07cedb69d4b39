#!/usr/bin/env python3
"""Writes frontend/import/classes.json: what the class of each architecture has for fields that a config.json leaves out.

    python3 tests/unit/import/classes.py VERSION...     # of transformers, oldest first; pip fetches each

Classes are read as text, without importing them: the arguments of __init__ and their defaults, or the fields of the class
and theirs. What a class computes of other fields (null here) is for the templates; tests/unit/import/completed.py checks that.
"""
import ast, json, os, re, subprocess, sys, tempfile, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../../../frontend/import/models")
OUT = os.path.join(HERE, "../../../frontend/import/classes.json")
# Fields of the class that all others come from, which some templates read.
BASE = {"ViTForImageClassification": {"num_labels": 2}, "GPT2LMHeadModel": {"add_cross_attention": False},
        **{f"{c}{kind}": {"is_decoder": False, "add_cross_attention": False} for c in ("Bert", "Roberta", "XLMRoberta") for kind in ("Model", "ForMaskedLM")},
        **{f"{c}ForSequenceClassification": {"is_decoder": False, "add_cross_attention": False, "num_labels": 2} for c in ("Bert", "Roberta", "XLMRoberta")},
        **{f"{c}ForSequenceClassification": {"num_labels": 2} for c in ("MPNet", "NomicBert", "Gte")},
        "DistilBertForSequenceClassification": {"num_labels": 2}, "ModernBertForSequenceClassification": {"num_labels": 2}}
# Written into the body of __init__ or of the code that uses it, and so in no list of arguments: gpt-oss' YaRN, since 5.8.1;
# what its experts had as constants until these were fields; the old names of rope's numbers in GPT-NeoX and Gemma 3.
BODY = {
    "GptOssForCausalLM": {"rope_parameters": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                              "truncate": False, "original_max_position_embeddings": 4096}},
    "GPTNeoXForCausalLM": {"rotary_emb_base": 10000, "rotary_pct": 0.25},
    **{c: {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 6} for c in ("Gemma3ForCausalLM", "Gemma3TextModel")},
    "Gemma3nForCausalLM": {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0},
    **{c: {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3}
       for c in ("ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification")},
    "Phi3ForCausalLM": {"partial_rotary_factor": 1.0},
    "ApertusForCausalLM": {"rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                               "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}},
    "Ministral3ForCausalLM": {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "beta_fast": 32.0,
                                                  "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                                                  "original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1}},
}
# Defaults that mean what the class works out, as null does elsewhere.
COMPUTED = {"Ernie4_5_MoeForCausalLM": ["moe_layer_end_index"], "Gemma3nForCausalLM": ["intermediate_size"],
            "BambaForCausalLM": ["mamba_d_head"], "FalconH1ForCausalLM": ["mamba_d_head"], "GraniteMoeHybridForCausalLM": ["mamba_d_head"],
            "JambaForCausalLM": ["mamba_dt_rank"], "MambaForCausalLM": ["time_step_rank"], "Mamba2ForCausalLM": ["time_step_rank"],
            "BailingHybridForCausalLM": ["head_dim"], "KimiLinearForCausalLM": ["linear_head_dim", "linear_num_heads"]}
# Classes whose "rope_scaling" is a part of "rope_parameters", and not another name of it.
SCALED = {"Olmo3ForCausalLM", "Gemma4ForCausalLM"}
# Names of fields that the first code of an architecture had, which the library does not know.
FIRST = {c: {"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_inner": "intermediate_size",
             "layer_norm_epsilon": "layer_norm_eps", "activation_function": "hidden_act", "rotary_emb_base": "rope_theta"}
         for c in ("NomicBertModel", "NomicBertForSequenceClassification")}
# Values that differ by version and mean the same: until 4.45 Gemma's "gelu" was the approximation by tanh.
SAME = {("GemmaForCausalLM", "hidden_act")}


def architectures():
    for name in sorted(os.listdir(MODELS)):
        if name.endswith(".etg.in"):
            for line in open(os.path.join(MODELS, name)):
                if line.startswith("%architecture "):
                    yield line.split()[1:3]


def value(node):
    if isinstance(node, ast.Call):  # a bound around a default
        node = next(k.value for k in node.keywords if k.arg == "default")
    return plain(eval(compile(ast.Expression(node), "", "eval"), {"float": float}))


def plain(v):
    """As save_pretrained writes it: infinity is no JSON."""
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    return {"__float__": "Infinity"} if v == float("inf") else v


def of_class(classes, name):
    node, fields, facts = classes[name], {}, {}
    for base in node.bases:
        if ast.unparse(base) in classes:
            more, known = of_class(classes, ast.unparse(base))
            fields.update(more), facts.update(known)
    for n in node.body:
        if isinstance(n, ast.AnnAssign) and n.value is not None:
            fields[n.target.id] = value(n.value)
        if isinstance(n, ast.Assign) and n.targets[0].id in ("default_theta", "attribute_map"):
            facts[n.targets[0].id] = value(n.value)
        if isinstance(n, ast.FunctionDef) and n.name == "__init__":
            a = n.args
            fields.update((x.arg, value(y)) for x, y in zip(a.args[len(a.args) - len(a.defaults):], a.defaults))
    return fields, facts


def read(wheel, architecture, kind):
    """The fields of a class with their defaults, and other names of theirs; None where this version has no such class."""
    module = kind.removesuffix("_text").removesuffix("_vision_model").replace("-", "_")
    path = f"transformers/models/{module}/configuration_{module}.py"
    if path not in wheel.namelist():
        return None
    classes = {n.name: n for n in ast.parse(wheel.read(path)).body if isinstance(n, ast.ClassDef)}
    name = next(c for c, n in classes.items() if re.search(rf'model_type = "{kind}"', ast.unparse(n).replace("'", '"')))
    fields, facts = of_class(classes, name)
    names = {**facts.get("attribute_map", {}), **FIRST.get(architecture, {})}
    theta = facts.get("default_theta", 10000.0)
    if "rope_parameters" in fields and isinstance(theta, float):
        fields.setdefault("rope_theta", theta)
    if fields.get("rope_scaling"):  # its old name, as gpt-oss has it
        fields["rope_parameters"] = fields.pop("rope_scaling")
    if "rope_parameters" in fields or "rope_scaling" in fields:
        fields.pop("rope_scaling", None), fields.setdefault("rope_parameters", None)
        if isinstance(theta, float) and architecture not in SCALED:
            names["rope_scaling"] = "rope_parameters"
    if architecture in ("GPTNeoXForCausalLM", "Gemma4ForCausalLM"):
        fields.pop("rope_theta", None)
    for k, v in {**BASE.get(architecture, {}), **BODY.get(architecture, {})}.items():
        if fields.get(k) is None:
            fields[k] = v
    fields.update((k, None) for k in COMPUTED.get(architecture, []) if k in fields)
    return {names.get(k, k): v for k, v in fields.items()}, names


def history(versions, wheels, architecture, kind):
    seen = [(v, *r) for v in versions if (r := read(wheels[v], architecture, kind))]
    if not seen:  # its code is not in the library
        return None
    _, fields, names = seen[-1]
    out = {"fields": dict(sorted(fields.items())), "names": dict(sorted(names.items())), "earlier": []}
    for (version, old, _), (after, _, _) in zip(seen, seen[1:]):
        old = {names.get(k, k): v for k, v in old.items()}
        differs = {k: v for k, v in sorted(old.items())
                   if k in fields and v != fields[k] and (architecture, k) not in SAME}
        # Only the last version that has a value stands here.
        for e in out["earlier"]:
            e["fields"] = {k: v for k, v in e["fields"].items() if k not in differs or differs[k] != v}
        if differs:
            out["earlier"].append({"until": version, "after": after, "fields": differs})
    out["earlier"] = [e for e in reversed(out["earlier"]) if e["fields"]]
    return {k: v for k, v in out.items() if v}


def wrapped(j, indent):
    """JSON whose objects are broken into lines of at most 130 characters."""
    text, line = "{", ""
    for i, (k, v) in enumerate(j.items()):
        item = f"{json.dumps(k)}: {json.dumps(v)}" + ("," if i + 1 < len(j) else "}")
        if line and len(indent) + len(line) + len(item) > 128:
            text, line = f"{text}{line}\n{indent}", item
        else:
            line += (" " if line else "") + item
    return text + line


def main(versions):
    wheels = {}
    with tempfile.TemporaryDirectory() as folder:
        for v in versions:
            subprocess.check_call([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", folder, f"transformers=={v}"])
            wheels[v] = zipfile.ZipFile(next(os.path.join(folder, f) for f in os.listdir(folder) if f"-{v}-" in f))
        classes = {a: h for a, kind in architectures() if (h := history(versions, wheels, a, kind))}
    with open(OUT, "w") as f:
        f.write(f'{{"library": "transformers", "versions": {json.dumps(versions)}, "classes": {{\n')
        for i, (a, c) in enumerate(classes.items()):
            parts = [f'"fields":\n  {wrapped(c["fields"], "   ")}']
            if "names" in c:
                parts.append(f'"names": {json.dumps(c["names"])}')
            if "earlier" in c:
                rows = ",\n  ".join(json.dumps(e) for e in c["earlier"])
                parts.append(f'"earlier": [\n  {rows}]')
            f.write(f'"{a}": {{' + ",\n ".join(parts) + ("},\n" if i + 1 < len(classes) else "}\n"))
        f.write("}}\n")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
