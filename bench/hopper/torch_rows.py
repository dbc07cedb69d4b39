"""What PyTorch takes for the rows of run.sh: torch_rows.py MODELS ASKED SECONDS

ASKED has a line for each row: MODEL N CONTEXT. With a context it is one token for each of N sequences, the last of so many
positions; with 0 a prompt of N tokens, of which the last has logits; of the MODEL `experts` one layer of N tokens. MODELS/MODEL.json is the model's configuration. Weights are
random, made on the GPU. For each row a line MODEL N CONTEXT GRAPH, and again with COMPILED behind when that is known: ms of a CUDA
graph as it is, and of one whose layers torch.compile made; medians of 30 replays by events of the device.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

BF16, GPU = torch.bfloat16, "cuda"
torch.set_grad_enabled(False)


class Model:
    """Weights of a decoder and what its layers are made of."""

    def __init__(self, config):
        self.heads, self.shared = config["num_attention_heads"], config["num_key_value_heads"]
        self.width, self.layers = config["hidden_size"], config["num_hidden_layers"]
        self.size = config.get("head_dim", self.width // self.heads)
        self.eps = config["rms_norm_eps"]
        self.head_norms = config["model_type"] == "qwen3"
        hidden = config["intermediate_size"]
        made = lambda *shape: torch.empty(*shape, device=GPU, dtype=BF16).normal_(0, shape[-1] ** -0.5)
        ones = lambda n: torch.ones(n, device=GPU, dtype=BF16)
        self.embed = made(config["vocab_size"], self.width)
        self.unembed = self.embed if config["tie_word_embeddings"] else made(*self.embed.shape)
        self.last_norm = ones(self.width)
        self.weights = [
            (
                ones(self.width),
                made((self.heads + 2 * self.shared) * self.size, self.width),
                ones(self.size),
                ones(self.size),
                made(self.width, self.heads * self.size),
                ones(self.width),
                made(2 * hidden, self.width),
                made(self.width, hidden),
            )
            for _ in range(self.layers)
        ]
        half = self.size // 2
        self.turns = config.get("rope_theta", 1e4) ** (-torch.arange(half, device=GPU) / half)

    def angles(self, positions):
        by = positions.float()[:, None, None] * self.turns
        return by.cos().to(BF16), by.sin().to(BF16)

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def layer(self, x, more, cos, sin, kept, weights):
        """One layer. What the MLP before it gave comes apart from the rest, so that its sum is made with the norm."""
        norm1, qkv, norm_q, norm_k, out, norm2, gate_up, down = weights
        keys, values = kept
        n = x.shape[0]
        x = x + more
        h = F.rms_norm(x, (self.width,), norm1, self.eps)
        split = (self.heads, self.shared, self.shared)
        q, k, v = F.linear(h, qkv).view(n, -1, self.size).split(split, 1)
        if self.head_norms:
            q = F.rms_norm(q, (self.size,), norm_q, self.eps)
            k = F.rms_norm(k, (self.size,), norm_k, self.eps)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        if keys.shape[0] == n:  # a sequence for each token, of which this is the last position
            keys[:, :, -1], values[:, :, -1] = k, v
            a = F.scaled_dot_product_attention(q[:, :, None], keys, values, enable_gqa=True)
        else:  # one prompt
            keys[0, :, :n], values[0, :, :n] = k.transpose(0, 1), v.transpose(0, 1)
            rows = (t.transpose(0, 1)[None] for t in (q, k, v))
            a = F.scaled_dot_product_attention(*rows, is_causal=True, enable_gqa=True)[0].transpose(0, 1)
        x = x + F.linear(a.reshape(n, -1), out)
        g, u = F.linear(F.rms_norm(x, (self.width,), norm2, self.eps), gate_up).chunk(2, -1)
        return x, F.linear(F.silu(g) * u, down)

    def logits(self, x, more):
        return F.linear(F.rms_norm(x + more, (self.width,), self.last_norm, self.eps), self.unembed)


def step(model, layer, logits, tokens, positions, kept, prompt):
    x = model.embed[tokens]
    more = torch.zeros_like(x)
    cos, sin = model.angles(positions)
    for weights, cache in zip(model.weights, kept):
        x, more = layer(x, more, cos, sin, cache, weights)
    if prompt:
        x, more = x[-1:], more[-1:]
    return logits(x, more)


class Experts:
    """A layer of experts alone, whose router's scores are given."""

    def __init__(self, config):
        self.width, self.chosen = config["hidden_size"], config["num_experts_per_tok"]
        count, hidden = config["num_experts"], config["moe_intermediate_size"]
        made = lambda *shape: torch.empty(*shape, device=GPU, dtype=BF16).normal_(0, shape[-1] ** -0.5)
        # The grouped product takes [group, k, n] of which k lies together.
        self.gate_up = made(count, 2 * hidden, self.width).transpose(1, 2)
        self.down = made(count, self.width, hidden).transpose(1, 2)
        self.groups = torch.arange(count, device=GPU)

    def layer(self, x, scores):
        w, expert = torch.topk(torch.softmax(scores, -1), self.chosen)
        w = w / w.sum(-1, keepdim=True)
        sorted_experts, order = expert.flatten().sort(stable=True)
        ends = torch.searchsorted(sorted_experts, self.groups, right=True).to(torch.int32)
        g, u = torch._grouped_mm(x[order // self.chosen], self.gate_up, offs=ends).chunk(2, -1)
        y = torch._grouped_mm(F.silu(g) * u, self.down, offs=ends)
        y = torch.empty_like(y).index_copy_(0, order, y)
        return (y.view(-1, self.chosen, self.width) * w[:, :, None]).sum(1).to(BF16)


def experts_row(model, n, compiled):
    x = torch.randn(n, model.width, device=GPU, dtype=BF16)
    scores = torch.randn(n, len(model.groups), device=GPU)
    layer = model.layer
    if compiled:
        torch.compiler.reset()
        layer = torch.compile(layer, dynamic=False)
    return graph_ms(lambda: layer(x, scores))


def graph_ms(run):
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for i in range(35):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= 5:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def row(model, n, context, compiled):
    if isinstance(model, Experts):
        return experts_row(model, n, compiled)
    prompt = context == 0
    tokens = torch.randint(0, model.embed.shape[0], (n,), device=GPU)
    positions = torch.arange(n, device=GPU) if prompt else torch.full((n,), context - 1, device=GPU)
    shape = (1 if prompt else n, model.shared, n + 1 if prompt else context, model.size)
    if prompt and n == 1:
        raise ValueError("a prompt has more than one token")
    kept = [
        tuple(torch.randn(shape, device=GPU, dtype=BF16) for _ in range(2)) for _ in range(model.layers)
    ]
    layer, logits = model.layer, model.logits
    if compiled:
        torch.compiler.reset()
        layer, logits = torch.compile(layer, dynamic=False), torch.compile(logits, dynamic=False)
    return graph_ms(lambda: step(model, layer, logits, tokens, positions, kept, prompt))


def all_of(model, rows, until):
    known = {}
    for compiled in (False, True):
        for key in rows:
            if time.monotonic() > until - 10:
                return
            try:
                ms = f"{row(model, key[1], key[2], compiled):.3f}"
            except Exception as error:
                print(key, compiled, repr(error)[:500], file=sys.stderr)
                ms = "FAIL"
            known.setdefault(key, []).append(ms)
            print(*key, *known[key], flush=True)


def main():
    models, asked, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    until = time.monotonic() + seconds
    rows = [line.split() for line in open(asked)]
    rows = [(name, int(n), int(context)) for name, n, context in rows]
    for name in dict.fromkeys(name for name, _, _ in rows):
        mine = sorted(r for r in rows if r[0] == name)
        try:
            kind = Experts if name == "experts" else Model
            all_of(kind(json.load(open(f"{models}/{name}.json"))), mine, until)
        except Exception as error:
            print(name, repr(error)[:500], file=sys.stderr)
        torch.cuda.empty_cache()


main()
