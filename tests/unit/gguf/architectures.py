#!/usr/bin/env python3
"""Writes tests/unit/gguf/architectures.json: what llama.cpp's converter makes of golden checkpoints.

    python3 tests/unit/gguf/architectures.py LLAMA_CPP CHECKPOINTS [NAME...]    # with torch and transformers

LLAMA_CPP is the folder with convert_hf_to_gguf.py, CHECKPOINTS that of the build. Recorded are the metadata, and of each tensor where its
values are in the checkpoint and how they lie there, found by comparing values; `remake` makes the file of that again. FIELDS are
changes of a configuration that such files cannot say, or that the converter needs. Named ones replace those that the file has.

What is more than a tensor, or experts, one behind the other, is said by `views`: numbers of a tensor from one on, by sizes and strides, and what
is done to each.
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
    "deepseek_v3": {"scoring_func": "sigmoid"},
    "deepseek_v3_noq": {"scoring_func": "sigmoid"},
    "deepseek_v2": {"scoring_func": "softmax"},
    "kimi_linear": {"moe_router_activation_func": "sigmoid", "num_expert_group": 1},
    "granitemoehybrid": {"layer_types": ["mamba", "attention", "mamba"], "max_position_embeddings": 1 << 20},
    "granite4_dense": {"layer_types": ["mamba", "attention", "mamba"], "max_position_embeddings": 1 << 20},
    "nemotron_h": {"max_position_embeddings": 1 << 20},
    # Its factors become part of the weights.
    "falcon_h1": {**dict.fromkeys(("embedding_multiplier", "lm_head_multiplier", "key_multiplier", "attention_in_multiplier",
                                   "attention_out_multiplier", "ssm_in_multiplier", "ssm_out_multiplier"), 1.0),
                  "mlp_multipliers": [1, 1], "ssm_multipliers": [1] * 5},
    "llama4_text": {"attention_chunk_size": 8192, "attn_scale": 0.1, "floor_scale": 8192},
}
NAMES = """smollm3 arcee granite ministral3 seed_oss ernie4_5 ernie4_5_moe exaone4 olmo2 olmo3 olmoe glm4 glm4_moe dots1 minimax_m2 cohere
cohere2 starcoder2 phi3 longrope lfm2 lfm2_moe deepseek_v2 deepseek_v3 deepseek_v3_noq kimi_linear qwen3_next qwen3_5 qwen3_5_moe
granitemoehybrid granite4_dense nemotron_h mamba2 mamba jamba falcon_h1 llama4_text gemma3n gemma4 gemma4_moe
gpt_oss""".split()
# What the converter calls a tensor where transformers writes another name.
RENAMED = {"kimi_linear": ("layers.0.block_sparse_moe.", "layers.0.mlp.")}


def whole(key, t):
    """All of a tensor, as it lies there."""
    strides = [1]
    for n in reversed(t.shape[1:]):
        strides.insert(0, strides[0] * n)
    return [key, 0, list(t.shape), strides]


def views(name, weights, c):
    """Of the file's tensor NAME, whose layer is that of WEIGHTS, by the ends of their names: [view, ...]; or none."""
    end = re.sub(r"blk\.\d+\.", "", name)

    def find(tail):
        return next(((k, t) for k, t in weights.items() if k.endswith(tail)), (None, None))

    def rows(tail, first, count, groups=1, step=0):
        key, t = find(tail)
        row = t.numel() // t.shape[0]
        return [key, first * row, [groups, count, row], [step * row, row, 1]]

    if find("kv_b_proj.weight")[0] and end in ("attn_k_b.weight", "attn_v_b.weight"):
        key, t = find("kv_b_proj.weight")
        nope, values, heads, row = c["qk_nope_head_dim"], c["v_head_dim"], c["num_attention_heads"], t.shape[1]
        each = (nope + values) * row
        if end == "attn_k_b.weight":
            return [[key, 0, [heads, row, nope], [each, 1, row]]]
        return [[key, nope * row, [heads, values, row], [each, row, 1]]]
    kh, vh, kd, vd = (c.get("linear_" + n) for n in ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim"))
    if find("in_proj_qkvz.weight")[0] and end in ("attn_qkv.weight", "attn_gate.weight"):
        own = vh // kh * vd
        each = 2 * kd + 2 * own
        parts = [(2 * kd + own, own)] if end == "attn_gate.weight" else [(0, kd), (kd, kd), (2 * kd, own)]
        return [rows("in_proj_qkvz.weight", first, count, kh, each) for first, count in parts]
    tiled = {"attn_qkv.weight": "in_proj_qkv.weight", "attn_gate.weight": "in_proj_z.weight", "ssm_beta.weight": "in_proj_b.weight",
             "ssm_alpha.weight": "in_proj_a.weight", "ssm_a": "A_log", "ssm_dt.bias": "dt_bias", "ssm_conv1d.weight": "conv1d.weight"}
    if find("in_proj_qkv.weight")[0] and end in tiled:
        key, t = find("linear_attn." + tiled[end])
        before = 2 * kh * kd if end in ("attn_qkv.weight", "ssm_conv1d.weight") else 0
        unit = (t.shape[0] - before) // vh
        return ([rows(key, 0, before)] if before else []) + \
            [rows(key, before + r * unit, unit, kh, vh // kh * unit) for r in range(vh // kh)]
    if find("in_proj_qkv.weight")[0] and end == "ssm_out.weight":
        key, t = find("linear_attn.out_proj.weight")
        return [[key, 0, [t.shape[0], vh // kh, kh, vd], [t.shape[1], vd, vh // kh * vd, 1]]]
    half = re.fullmatch(r"ffn_(gate|up)(_exps|_shexp)?\.weight", end)
    if half:
        second = half.group(1) == "up"
        stacked = "block_sparse_moe.input_linear.weight" if half.group(2) == "_exps" else "shared_mlp.input_linear.weight"
        key, t = find(stacked)
        if key:
            n, row = t.shape[-2] // 2, t.shape[-1]
            return [[key, second * n * row, [t.numel() // (2 * n * row), n, row], [2 * n * row, row, 1]]]
        key, t = find("feed_forward.experts.gate_up_proj")
        if key and half.group(2) == "_exps":
            e, h, f = t.shape
            return [[key, second * (f // 2), [e, f // 2, h], [h * f, 1, f]]]
    key, t = find("mlp.experts.gate_up_proj")
    both = re.fullmatch(r"ffn_(gate|up)_exps\.(weight|bias)", end)
    if key and both:  # columns in turns
        e, h, f = t.shape
        second = int(both.group(1) == "up")
        if both.group(2) == "bias":
            return [[key + "_bias", second, [e, f // 2], [f, 2]]]
        return [[key, second, [e, f // 2, h], [h * f, 2, f]]]
    if key and end == "ffn_down_exps.weight":
        key, t = find("mlp.experts.down_proj")
        e, f, h = t.shape
        return [[key, 0, [e, h, f], [f * h, 1, h]]]
    if end == "ffn_down_exps.weight" and find("feed_forward.experts.down_proj")[0]:
        key, t = find("feed_forward.experts.down_proj")
        e, f, h = t.shape
        return [[key, 0, [e, h, f], [f * h, 1, h]]]
    if end in ("altup_proj.weight", "altup_unembd_proj.weight"):
        key = "model.altup_%s.{e}.weight" % ("projections" if end == "altup_proj.weight" else "unembed_projections")
        return [whole(key, weights[key.replace("{e}", "0")])]
    return []


def seen(view, weights, change):
    import torch
    key, at, sizes, strides = view
    keys = [key.replace("{e}", str(e)) for e in range(4096)] if "{e}" in key else [key]
    return torch.cat([CHANGES[change](weights[k].float()).reshape(-1).as_strided(sizes, strides, at).reshape(-1)
                      for k in keys if k in weights])


CHANGES = {"same": lambda t: t, "plus": lambda t: t + 1, "minus_exp": lambda t: -t.exp()}


def by_views(name, data, weights, config, layer):
    """[views, change] that give these values, or none."""
    import torch
    own = {k: t for k, t in weights.items() if layer_of(k) == layer}
    tries = [views(name, own, config)] + [[whole(k, t)] for k, t in own.items() if t.numel() == data.numel()]
    found = [[v, change] for v in tries if v for change in CHANGES
             if torch.equal(torch.cat([seen(one, weights, change) for one in v]), data.reshape(-1))]
    return max(found, key=lambda f: difflib.SequenceMatcher(None, name, f[0][0][0]).ratio()) if found else None


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
        for kind, heads in (("turned_q", config.get("num_attention_heads")), ("turned_k", config.get("num_key_value_heads"))):
            if heads and t.shape == data.shape and t.shape[0] % (2 * heads) == 0 and torch.equal(turned(t, heads), data):
                found.append((key, kind))
                break
        if ".experts.0." in key and data.dim() == 3 and t.shape == data.shape[1:] and torch.equal(data[0], t):
            keys = [key.replace(".experts.0.", f".experts.{e}.") for e in range(data.shape[0])]
            assert all(torch.equal(weights[k].float(), data[e]) for e, k in enumerate(keys)), name
            found.append((key.replace(".experts.0.", ".experts.{e}."), "experts"))
    return found and max(found, key=lambda f: difflib.SequenceMatcher(None, name, f[0]).ratio())


def record(gguf, path, folder, config):
    import torch
    from safetensors.torch import load_file
    weights = load_file(f"{folder}/model.safetensors")
    reader = gguf.GGUFReader(path)
    values = []
    for key, field in reader.fields.items():
        if key.startswith(("GGUF.", "general.", "tokenizer.")) and key != "general.architecture":
            continue
        contents = field.contents()
        if isinstance(contents, list):  # JSON has no infinite numbers
            contents = [str(x) if x in (float("inf"), -float("inf")) else x for x in contents]
        values.append([key, [int(t) for t in field.types], contents])
    tensors = {}
    for t in reader.tensors:
        data = torch.tensor(gguf.dequantize(t.data, t.tensor_type)).reshape(*[int(n) for n in reversed(t.shape)])
        layer = layer_of(t.name)
        if t.name.startswith("rope_"):
            tensors[t.name] = ["values", [float(x) for x in data]]
            continue
        found = source(t.name, data, weights, config)
        if found:
            key, how = with_layer(found[0], layer), found[1]
        else:
            found = by_views(t.name, data, weights, config, layer)
            assert found, t.name
            key, how = [[with_layer(v[0], layer)] + v[1:] for v in found[0]], found[1]
        row = [key, how, [int(n) for n in t.shape], int(t.tensor_type)]
        pattern = with_layer(t.name, layer)
        while tensors.setdefault(pattern, row + [[]])[:4] != row:  # of another shape in some layers
            pattern += "|"
        if layer:
            tensors[pattern][4].append(int(layer))
    return {"values": values, "tensors": tensors}


def main(llama, checkpoints, names):
    sys.path[0:0] = [llama, llama + "/gguf-py"]
    import gguf, torch
    from safetensors.torch import load_file, save_file
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
    logging.disable(logging.CRITICAL)
    file = f"{HERE}/architectures.json"
    out = json.load(open(file)) if names else {}
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            config = json.load(open(f"{checkpoints}/{name}/config.json"))
            config.update(FIELDS.get(name, {}))
            json.dump(config, open(f"{folder}/config.json", "w"))
            weights = f"{checkpoints}/{name}/model.safetensors"
            if name in RENAMED:
                save_file({k.replace(*RENAMED[name]): t for k, t in load_file(weights).items()}, f"{folder}/renamed.safetensors")
                weights = f"{folder}/renamed.safetensors"
            os.symlink(os.path.realpath(weights), f"{folder}/model.safetensors")
            # Words that are counted, to cut the embedding to those there are.
            words = {str(i): i for i in range(config["vocab_size"])}
            json.dump({"model": {"vocab": words}, "added_tokens": []}, open(f"{folder}/tokenizer.json", "w"))
            kind = get_model_class(get_model_architecture(ModelBase.load_hparams(Path(folder), False), ModelType.TEXT))
            kind.set_vocab, kind.no_mtp = lambda self: None, True
            with torch.inference_mode():
                made = kind(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, Path(f"{folder}/x.gguf"))
                if hasattr(made, "impl"):
                    type(made.impl).set_vocab = lambda self: None
                made.write()
            out[name] = {"fields": FIELDS.get(name, {}), **record(gguf, f"{folder}/x.gguf", f"{checkpoints}/{name}", config)}
    with open(file, "w") as f:
        f.write("{\n" + ",\n".join(f'"{n}": ' + json.dumps(v, separators=(",", ":")) for n, v in sorted(out.items())) + "\n}\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
