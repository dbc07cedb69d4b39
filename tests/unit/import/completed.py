#!/usr/bin/env python3
"""Writes tests/unit/import/completed.json: configurations as the classes of transformers complete them, for complete.c.

    python3 tests/unit/import/completed.py build/checkpoints     # with transformers, of the last version in frontend/import/classes.json

For the golden checkpoint of every architecture, and for variants of it: what the class makes of the configuration without
one field, for every field in turn, as the fields that differ from what it makes of the whole; and the same of the fields
of its objects ("inside").
"""
import copy, json, logging, os, re, sys
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

logging.disable(logging.CRITICAL)
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../../..")
CHECKPOINTS = sys.argv[1]
# About the file or the library, and no field of a class.
ABOUT = {"architectures", "model_type", "transformers_version", "dtype", "torch_dtype", "id2label", "label2id"}
# What the golden configurations do not have: windows by every rule, other ropes.
LONG = {"max_position_embeddings": 16384}  # of which complete.c keeps more than any class's window
WINDOWS = {"use_sliding_window": True, "sliding_window": 24, "max_window_layers": 1, "layer_types": None, "num_hidden_layers": 30, **LONG}
VARIANTS = {
    "qwen2": [WINDOWS], "qwen3": [WINDOWS], "qwen3_moe": [WINDOWS], "smollm3": [{**WINDOWS, "no_rope_layers": None}],
    "qwen2_moe": [{**WINDOWS, "layer_types": ["sliding_attention", "full_attention"] * 15}],
    "phi3": [{"sliding_window": 24}], "mixtral": [{"sliding_window": 24}], "mistral": [{"sliding_window": None}, LONG],
    "gpt_oss": [{**LONG, "layer_types": None}],
    "gemma2": [{**LONG, "layer_types": None, "final_logit_softcapping": None, "attn_logit_softcapping": None}],
    "gemma3": [{**LONG, "layer_types": None, "num_hidden_layers": 9, "final_logit_softcapping": 20.0, "attn_logit_softcapping": 40.0}],
    "llama": [{"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0}, "attention_bias": True}],
    "granite": [{"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}],
}


# What the library's code takes where an object of the configuration does not have it, and no class puts it there.
IN_CODE = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}
PROPORTIONAL = {"partial_rotary_factor": 1.0, "factor": 1.0}


def paths(fields, before=()):
    """Those of objects in it: what each leads to may be left out."""
    for name, value in sorted(fields.items()):
        if before:
            yield (*before, name)
        if isinstance(value, dict) and name not in ABOUT:
            yield from paths(value, (*before, name))


def at(fields, path):
    for name in path:
        fields = fields[name] if isinstance(fields, dict) and name in fields else None
    return fields


def number(o):
    """What is no number in JSON, as save_pretrained writes it."""
    return float(o["__float__"]) if set(o) == {"__float__"} else o


def made(cls, fields):
    try:
        out = json.loads(cls(**json.loads(json.dumps(fields), object_hook=number)).to_json_string(use_diff=False))
    except Exception as e:  # a class refuses sizes that do not go together
        return None
    return {k: v for k, v in out.items() if k not in ABOUT and not k.startswith("_")}


def of(architecture, kind, golden, variant):
    config = json.load(open(f"{CHECKPOINTS}/{golden}/config.json"))
    config.pop("quantization_config", None)
    config = {k: v for k, v in {**config, **variant}.items()}
    cls = CONFIG_MAPPING[kind]
    names = sorted(set(config) - ABOUT)
    whole = made(cls, config)
    assert whole, (golden, variant)
    without = {}
    for name in names:
        less = made(cls, {k: v for k, v in config.items() if k != name})
        without[name] = less and {**{k: v for k, v in less.items() if k not in whole or v != whole[k]},
                                  **{k: None for k in whole if k not in less}}  # which the class does not have by itself
    inside = {}
    for path in paths(config):
        cut = copy.deepcopy(config)
        del at(cut, path[:-1])[path[-1]]
        less = made(cls, cut)
        owner = less and at(less, path[:-1])
        if isinstance(owner, dict) and path[-1] not in owner:
            code = PROPORTIONAL if owner.get("rope_type") == "proportional" else IN_CODE
            owner.update({k: code[k] for k in path[-1:] if k in code})
        inside[".".join(path)] = less and {k: v for k, v in less.items() if k not in whole or v != whole[k]}
    return {"architecture": architecture, "golden": golden, "variant": variant, "whole": whole, "without": without, "inside": inside}


def alike(class_):
    """What a class has, without what only those that sort into classes read: models with other heads share it."""
    return {**class_, "fields": {k: v for k, v in class_["fields"].items() if k != "num_labels"}}


def main():
    read = json.load(open(f"{SOURCE}/frontend/import/classes.json"))
    versions, classes = read["versions"], read["classes"]
    assert versions[-1] == transformers.__version__, f"this is {transformers.__version__}, classes.json of {versions[-1]}"
    kinds = {}
    for name in sorted(os.listdir(f"{SOURCE}/frontend/import/models")):
        for line in open(f"{SOURCE}/frontend/import/models/{name}"):
            if m := re.match(r"%architecture (\S+) (\S+)", line):
                kinds[m[1]] = m[2]
    rows = []
    for golden in sorted(os.listdir(CHECKPOINTS)):
        path = f"{CHECKPOINTS}/{golden}/config.json"
        if golden.startswith("stories-"):
            continue
        if os.path.exists(path) and "quantization_config" not in json.load(open(path)):
            architecture = json.load(open(path))["architectures"][0]
            # The class of the first is not in the library; without modules.json nothing is said of what the others give.
            if architecture not in classes or architecture in ("Gemma3TextModel", "LlamaModel", "Qwen2Model"):
                continue
            for variant in [{}, *VARIANTS.get(golden, [])]:
                rows.append(of(architecture, kinds[architecture], golden, variant))
    known = {r["architecture"] for r in rows}
    missing = {a for a in kinds if a in classes and a not in known and not any(alike(classes[a]) == alike(classes[k]) for k in known)}
    assert not missing, f"no golden checkpoint of {missing}"
    with open(f"{HERE}/completed.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


main()
