#!/usr/bin/env python3
"""Writes tests/unit/gguf/architectures.json: what llama.cpp's converter makes of golden checkpoints.

    python3 tests/unit/gguf/architectures.py LLAMA_CPP CHECKPOINTS [NAME...]    # with torch and transformers

LLAMA_CPP is the folder with convert_hf_to_gguf.py, CHECKPOINTS that of the build. Recorded are the metadata, and of each tensor where its
values are in the checkpoint and how they lie there, found by comparing values; `remake` makes the file of that again. FIELDS are
changes of a configuration that such files cannot say, or that the converter needs. Named ones replace those that the file has.
"""
import difflib, json, logging, os, re, sys, tempfile
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = {
    "smollm3": {"no_rope_layers": [1, 1]},
    "starcoder2": {"sliding_window": None},
    "dots1": {"sliding_window": None, "layer_types": ["full_attention"] * 3},
    "lfm2_moe": {"routed_scaling_factor": 1.0},
    "minimax_m2": {"rotary_dim": 32},
    "cohere2": {"rotary_pct": 1.0},
}
NAMES = """smollm3 arcee granite ministral3 seed_oss ernie4_5 ernie4_5_moe exaone4 olmo2 olmo3 olmoe glm4 glm4_moe dots1 minimax_m2 cohere
cohere2 starcoder2 phi3 longrope lfm2 lfm2_moe""".split()


def turned(t, heads):
    """Halves of each head row by row."""
    rows = t.shape[0]
    return t.reshape(heads, 2, rows // heads // 2, *t.shape[1:]).transpose(1, 2).reshape(t.shape)


def layer_of(name):
    m = re.search(r"(?:blk|layers)\.(\d+)\.", name)
    return m.group(1) if m else None


def with_layer(name, layer):
    return re.sub(r"((?:blk|layers)\.)%s\." % layer, r"\1{l}.", name) if layer else name


def source(name, data, weights, config):
    """Where the checkpoint has these values, and how: same, turned, experts."""
    import torch
    layer = layer_of(name)
    found = []
    for key, t in weights.items():
        if layer_of(key) != layer:
            continue
        t = t.float()
        if t.numel() == data.numel() and torch.equal(t.reshape(data.shape), data):
            found.append((key, "same"))
            continue
        for kind, heads in (("turned_q", config["num_attention_heads"]), ("turned_k", config["num_key_value_heads"])):
            if t.shape == data.shape and t.shape[0] % (2 * heads) == 0 and torch.equal(turned(t, heads), data):
                found.append((key, kind))
                break
        if ".experts.0." in key and data.dim() == 3 and t.shape == data.shape[1:] and torch.equal(data[0], t):
            keys = [key.replace(".experts.0.", f".experts.{e}.") for e in range(data.shape[0])]
            assert all(torch.equal(weights[k].float(), data[e]) for e, k in enumerate(keys)), name
            found.append((key.replace(".experts.0.", ".experts.{e}."), "experts"))
    assert found, name
    return max(found, key=lambda f: difflib.SequenceMatcher(None, name, f[0]).ratio())


def record(gguf, path, folder, config):
    import torch
    from safetensors.torch import load_file
    weights = load_file(f"{folder}/model.safetensors")
    reader = gguf.GGUFReader(path)
    values = []
    for key, field in reader.fields.items():
        if key.startswith(("GGUF.", "general.", "tokenizer.")) and key != "general.architecture":
            continue
        values.append([key, [int(t) for t in field.types], field.contents()])
    tensors = {}
    for t in reader.tensors:
        data = torch.tensor(gguf.dequantize(t.data, t.tensor_type)).reshape(*[int(n) for n in reversed(t.shape)])
        layer = layer_of(t.name)
        if t.name.startswith("rope_"):
            tensors[t.name] = ["values", [float(x) for x in data]]
            continue
        key, how = source(t.name, data, weights, config)
        row = [with_layer(key, layer), how, [int(n) for n in t.shape], int(t.tensor_type)]
        pattern = with_layer(t.name, layer)
        assert tensors.setdefault(pattern, row + [[]])[:4] == row, t.name
        if layer:
            tensors[pattern][4].append(int(layer))
    return {"values": values, "tensors": tensors}


def main(llama, checkpoints, names):
    sys.path[0:0] = [llama, llama + "/gguf-py"]
    import gguf, torch
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
    logging.disable(logging.CRITICAL)
    file = f"{HERE}/architectures.json"
    out = json.load(open(file)) if names else {}
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            config = json.load(open(f"{checkpoints}/{name}/config.json"))
            config.update(FIELDS.get(name, {}))
            json.dump(config, open(f"{folder}/config.json", "w"))
            os.symlink(os.path.realpath(f"{checkpoints}/{name}/model.safetensors"), f"{folder}/model.safetensors")
            kind = get_model_class(get_model_architecture(ModelBase.load_hparams(Path(folder), False), ModelType.TEXT))
            kind.set_vocab = lambda self: None
            with torch.inference_mode():
                made = kind(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, Path(f"{folder}/x.gguf"))
                if hasattr(made, "impl"):
                    type(made.impl).set_vocab = lambda self: None
                made.write()
            out[name] = {"fields": FIELDS.get(name, {}), **record(gguf, f"{folder}/x.gguf", folder, config)}
    with open(file, "w") as f:
        f.write("{\n" + ",\n".join(f'"{n}": ' + json.dumps(v, separators=(",", ":")) for n, v in sorted(out.items())) + "\n}\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
