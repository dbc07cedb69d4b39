"""Inputs and outputs of models that are no decoders, as PyTorch has them, become those of the models that etimport writes: texts one
behind the other, without padding."""
import json, struct
import numpy as np

TYPES = {"F32": "<f4", "I32": "<i4"}
NAMES = {"last_hidden_state": "hidden", "encoder_last_hidden_state": "hidden", "sentence_embedding": "embedding", "pooler_output": "pooled"}


def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    part = lambda t: data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]]
    return {k: np.frombuffer(part(t), TYPES[t["dtype"]]).reshape(t["shape"]) for k, t in header.items() if k != "__metadata__"}


def save(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        kind = "I32" if t.dtype.kind in "iu" else "F32"
        bytes_ = np.ascontiguousarray(t).astype(TYPES[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def split(folder, types):
    """FOLDER/golden.safetensors becomes inputs and outputs; TYPES: the model has token types, which are 0 where none are there."""
    golden = load(f"{folder}/golden.safetensors")
    ids, inputs, outputs = golden.pop("input_ids", None), {}, {}
    keep = golden.pop("attention_mask", np.ones_like(ids) if ids is not None else None)
    written = golden.pop("decoder_input_ids", None)
    if ids is not None:
        keep = keep.astype(bool)
        lengths = keep.sum(1)
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        inputs = {"tokens": ids[keep], "first": np.repeat(bounds[:-1], lengths), "end": np.repeat(bounds[1:], lengths)}
        if written is None:
            inputs |= {"positions": np.concatenate([np.arange(n) for n in lengths]), "bounds": bounds}
        if "pixel_values" in golden:  # CLIP's texts are seen up to each token
            del inputs["end"]
        if types:
            inputs["types"] = golden.pop("token_type_ids", np.zeros_like(ids))[keep]
    if written is not None:
        count, each = written.shape
        start = np.repeat(np.arange(count) * each, each)
        if ids is not None:
            inputs |= {"targets": written.reshape(-1), "target_first": start, "source_first": np.repeat(bounds[:-1], each),
                       "source_end": np.repeat(bounds[1:], each)}
        else:
            inputs |= {"tokens": written.reshape(-1), "positions": np.tile(np.arange(each), count), "first": start,
                       "audio": np.repeat(np.arange(count), each)}
        golden["logits"] = golden["logits"].reshape(count * each, -1)
    for name, t in golden.items():
        if name in ("pixel_values", "input_features"):
            inputs["pixels" if name == "pixel_values" else "frames"] = t
        else:
            outputs[NAMES.get(name, name)] = t[keep] if ids is not None and t.shape[:2] == ids.shape and t.ndim == 3 else t
    save(f"{folder}/inputs.safetensors", inputs)
    save(f"{folder}/outputs.safetensors", outputs)
