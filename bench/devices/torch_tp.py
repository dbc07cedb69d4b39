"""torchrun --nproc-per-node N torch_tp.py: what NCCL and PyTorch take beside a kernel of several devices, in CUDA graphs, us or ms:
all-reduces, a product before a reduce-scatter and behind an all-gather, and decode of dense models, tensor parallel."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

rank, world = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
bf16 = dict(dtype=torch.bfloat16, device="cuda")


def say(text):
    if rank == 0:
        print("row", text, flush=True)


def microseconds(fn, often=20, runs=10):
    """Median over RUNS of a graph of OFTEN calls, for one call."""
    for _ in range(3):
        fn()
    torch.cuda.synchronize()
    dist.barrier()
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(often):
            fn()
    for _ in range(runs):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / often)
    return sorted(times)[len(times) // 2] * 1e3


def exchanges():
    for kb in (8, 64, 256):
        x = torch.ones(kb * 512, **bf16)
        say(f"NCCL all-reduce of {kb} KB: {microseconds(lambda: dist.all_reduce(x), 50):.1f} us")


def products():
    for name, hidden, wide in (("8B", 4096, 14336), ("32B", 5120, 25600), ("70B", 8192, 28672)):
        for rows in (512, 2048, 8192):
            w, x = torch.randn(hidden, wide // world, **bf16), torch.randn(rows, wide // world, **bf16)
            y, own = torch.empty(rows, hidden, **bf16), torch.empty(rows // world, hidden, **bf16)
            alone = microseconds(lambda: torch.matmul(x, w.T, out=y), 10)
            both = microseconds(lambda: (torch.matmul(x, w.T, out=y), dist.reduce_scatter_tensor(own, y)), 10)
            say(f"{name}, {rows} rows, product {alone:.0f} us, + reduce-scatter {both / alone:.2f} of it")
            w, z = torch.randn(2 * wide // world, hidden, **bf16), torch.empty(rows, 2 * wide // world, **bf16)
            alone = microseconds(lambda: torch.matmul(y, w.T, out=z), 10)
            both = microseconds(lambda: (dist.all_gather_into_tensor(y, own), torch.matmul(y, w.T, out=z)), 10)
            say(f"{name}, {rows} rows, product {alone:.0f} us, behind all-gather {both / alone:.2f} of it")


def decode(name, hidden, layers, heads, kv, head, wide, vocabulary, batch, context=512):
    heads, kv, wide, vocabulary = heads // world, kv // world, wide // world, vocabulary // world
    weights = [
        dict(
            qkv=torch.randn((heads + 2 * kv) * head, hidden, **bf16) * 0.02,
            o=torch.randn(hidden, heads * head, **bf16) * 0.02,
            gu=torch.randn(2 * wide, hidden, **bf16) * 0.02,
            d=torch.randn(hidden, wide, **bf16) * 0.02,
            k=torch.randn(batch, kv, context, head, **bf16),
            v=torch.randn(batch, kv, context, head, **bf16),
            norm=torch.ones(hidden, **bf16),
        )
        for _ in range(layers)
    ]
    last, start = torch.randn(vocabulary, hidden, **bf16) * 0.02, torch.randn(batch, hidden, **bf16)

    def attention(x, p):
        q, k, v = F.linear(F.rms_norm(x, (hidden,), p["norm"]), p["qkv"]).view(batch, -1, head).split([heads, kv, kv], 1)
        p["k"][:, :, -1], p["v"][:, :, -1] = k, v
        a = F.scaled_dot_product_attention(q.unsqueeze(2), p["k"], p["v"], enable_gqa=True)
        return F.linear(a.reshape(batch, heads * head), p["o"])

    def feed(x, p):
        gate, up = F.linear(F.rms_norm(x, (hidden,), p["norm"]), p["gu"]).chunk(2, -1)
        return F.linear(F.silu(gate) * up, p["d"])

    attention, feed = torch.compile(attention, dynamic=False), torch.compile(feed, dynamic=False)

    def step():
        x = start
        for p in weights:
            for half in attention, feed:
                y = half(x, p)
                dist.all_reduce(y)
                x = x + y
        return F.linear(x, last)

    with torch.no_grad():
        say(f"{name}, {batch} tokens, compiled, NCCL: {microseconds(step, 1, 20) / 1e3:.3f} ms")


exchanges()
decode("Llama-3.2-1B", 2048, 16, 32, 8, 64, 8192, 128256, 1)
for tokens in (1, 16):
    decode("Qwen3-8B", 4096, 36, 32, 8, 128, 12288, 151936, tokens)
for tokens in (512, 2048):
    decode("Qwen3-8B at context 1", 4096, 36, 32, 8, 128, 12288, 151936, tokens, 1)
products()
dist.destroy_process_group()
