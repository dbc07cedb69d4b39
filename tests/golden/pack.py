#!/usr/bin/env python3
"""Packs a checkpoint whose weights PyTorch drew from a seed: what random_weights.c draws again becomes zeros.

    python3 tests/golden/pack.py SEED FOLDER...     # FOLDER becomes FOLDER_NAME.tar.xz here; with NumPy

For each tensor of bf16 it looks for the place in the generator's numbers at which it was drawn, works out mean and deviation, and
lists the numbers that come out otherwise. What is not found stays as it is. References of f32 keep 16 significant bits, which is
ten times as exact as the tests ask for.
"""
import functools, json, os, shutil, struct, subprocess, sys, tempfile
import numpy as np
import flat

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCKS = 400000  # of 16 numbers, among which a tensor is looked for


def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), bytearray(data), 8 + n


@functools.lru_cache(2)
def normals(seed, shift):
    """Blocks of 16 normal numbers, as they come when SHIFT numbers were drawn before, and the same without mean and of length 1."""
    words = np.frombuffer(np.random.RandomState(seed).bytes(64 * BLOCKS + 4 * shift)[4 * shift:], dtype="<u4")
    u = ((words & 0xFFFFFF) / 16777216.0).reshape(-1, 16)
    length, angle = np.sqrt(-2 * np.log(1 - u[:, :8])), 2 * np.arccos(-1) * u[:, 8:]
    z = np.concatenate([length * np.cos(angle), length * np.sin(angle)], 1)
    unit = z - z.mean(1, keepdims=True)
    return z, unit / np.sqrt((unit ** 2).sum(1, keepdims=True))


def bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def spelled(x):
    return repr(float(np.float32(x))) if x else "0"


def place(z, unit, bits, fan):
    """(first block, mean, deviation, {element: bits}) of a tensor among the blocks z, or None."""
    x = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    block = x[:16] - x[:16].mean()
    size = np.sqrt((block ** 2).sum())
    if not size:
        return None
    fit = unit @ (block / size)
    at = int(fit.argmax())
    drawn = z[at:at + x.size // 16].reshape(-1)
    if fit[at] < 0.999 or drawn.size < x.size:
        return None
    deviation, mean = np.polyfit(drawn, x, 1)
    near = lambda v: [v] + [round(v, k) for k in range(1, 6)]
    best = None
    for d in near(deviation) + [c / np.sqrt(fan) for c in (0.25, 0.5, 1, 2)]:
        for m in near(mean) if abs(mean) > 0.01 else [0]:
            if abs(d - deviation) > 0.02 * deviation:
                continue
            got = bf16(drawn * float(np.float32(d)) + float(np.float32(m)))
            wrong = np.flatnonzero(got != bits)
            if best is None or wrong.size < len(best[3]):
                best = at, m, d, {int(i): int(bits[i]) for i in wrong}
    return best if best and len(best[3]) < x.size // 16 else None


def weights(folder, seed):
    path = os.path.join(folder, "model.safetensors")
    header, data, begin = read(path)
    found, kept, shifts = [], 0, list(range(16))
    for name, t in header.items():
        if name == "__metadata__" or t["dtype"] != "BF16":
            continue
        a, b = (begin + o for o in t["data_offsets"])
        bits = np.frombuffer(bytes(data[a:b]), dtype="<u2")
        where = None
        for shift in shifts if bits.size and bits.size % 16 == 0 and a % 2 == 0 else []:
            if where := place(*normals(seed, shift), bits, t["shape"][-1]):
                break
        if where is None:
            kept += bits.size
            continue
        shifts.remove(shift), shifts.insert(0, shift)  # the next one is likely drawn after this one
        found.append((where[0] * 16 + shift, name, where))
        data[a:b] = bytes(b - a)
    with open(os.path.join(folder, "random.txt"), "w") as f:
        print(f"seed {seed}", file=f)
        for at, name, (_, mean, deviation, wrong) in sorted(found):
            print(name, at, spelled(mean), spelled(deviation), *(f"{i}={v:x}" for i, v in wrong.items()), file=f)
    open(path, "wb").write(data)
    print(f"{os.path.basename(folder)}: {len(found)} tensors are drawn, {kept} numbers kept")


def references(path):
    header, data, begin = read(path)
    for name, t in header.items():
        if name != "__metadata__" and t["dtype"] == "F32" and np.prod(t["shape"]) > 4096:
            a, b = (begin + o for o in t["data_offsets"])
            bits = np.frombuffer(bytes(data[a:b]), dtype="<u4").astype(np.uint64)
            data[a:b] = ((bits + 0x7F + (bits >> 8 & 1)) & 0xFFFFFF00).astype("<u4").tobytes()
    open(path, "wb").write(data)


def main(seed, folders):
    for folder in folders:
        name = os.path.basename(os.path.normpath(folder))
        with tempfile.TemporaryDirectory() as work:
            copy = os.path.join(work, name)
            shutil.copytree(folder, copy)
            weights(copy, seed)
            golden = os.path.join(copy, "golden.safetensors")
            if set(flat.load(golden)) != {"input_ids", "logits"}:  # no decoder
                config = json.load(open(os.path.join(copy, "config.json")))
                flat.split(copy, config.get("type_vocab_size", 0) > 1)
                os.remove(golden)
                golden = os.path.join(copy, "outputs.safetensors")
            references(golden)
            tar = ["tar", "--sort=name", "--owner=0", "--group=0", "--mtime=@0", "-C", work, "-c", name]
            with open(os.path.join(HERE, name + ".tar.xz"), "wb") as out:
                pipe = subprocess.Popen(tar, stdout=subprocess.PIPE)
                subprocess.check_call(["xz", "--lzma2=preset=9e,lc=2,lp=2,pb=2"], stdin=pipe.stdout, stdout=out)
                if pipe.wait():
                    sys.exit("tar failed")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:]) if len(sys.argv) > 2 else sys.exit(__doc__)
