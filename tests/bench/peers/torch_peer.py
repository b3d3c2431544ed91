"""Times PyTorch on the work that `weft bench` measures and prints one JSON object.

usage: torch_peer.py gemm SHAPES     SHAPES is "MxNxK,MxNxK,..."
       torch_peer.py train|forward MODEL BATCH SEQ
       torch_peer.py attention SEQ  (12 heads of 64, causal, forward and backward)
options: --threads N   --dtype f32|bf16   --runs N   --attention math|fused   --compile

bf16 is autocast for models and bfloat16 operands for products. `--attention fused` uses
scaled_dot_product_attention and `--compile` torch.compile, if this version of PyTorch has them.
`--ranks N` trains in N processes (DistributedDataParallel over Gloo) that share the batch and the
threads; `--address` and `--rank` start a single one of them, to run each on a separate machine.
"""
import argparse
import json
import math
import os
import resource
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """A transformer block with pre-norm if `pre` is true (GPT-2, ViT), else post-norm (BERT)."""

    def __init__(self, width, heads, pre, causal, fused):
        super().__init__()
        self.heads, self.pre, self.causal, self.fused = heads, pre, causal, fused
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, seq, width = x.shape
        q, k, v = (part.view(batch, seq, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
            if self.causal:
                keep = torch.ones(seq, seq, dtype=torch.bool).tril()
                scores = scores.masked_fill(~keep, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, seq, width))

    def feed_forward(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x):
        if self.pre:
            x = x + self.attention(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


class Text(nn.Module):
    """GPT-2 124M (tied head) or BERT-base (hidden states)."""

    def __init__(self, vocab, pre, causal, head, fused, width=768, layers=12, positions=1024):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(
            Block(width, 12, pre, causal, fused) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), head

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return F.linear(x, self.tokens.weight) if self.head else x


class Vision(nn.Module):
    """ViT-B/16 on 224 x 224 images."""

    def __init__(self, fused, width=768):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 197, width))
        self.blocks = nn.ModuleList(Block(width, 12, True, False, fused) for _ in range(12))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def make_model(name, batch, seq, fused):
    """Returns the model and one input."""
    if name == "gpt2":
        return Text(50257, True, True, True, fused), torch.randint(0, 50257, (batch, seq))
    if name == "bert-base":
        return Text(30522, False, False, False, fused), torch.randint(0, 30522, (batch, seq))
    if name == "vit-b16":
        return Vision(fused), torch.randn(batch, 3, 224, 224)
    raise SystemExit(f"torch_peer: unknown model '{name}'; choose from: gpt2, bert-base, vit-b16")


def seconds_of(work, runs, warmups=1):
    for _ in range(warmups):
        work()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def gemm(args):
    shapes = []
    for text in args.work[0].split(","):
        m, n, k = (int(part) for part in text.split("x"))
        a, b = torch.randn(m, k), torch.randn(n, k)
        if args.dtype == "bf16":
            a, b = a.bfloat16(), b.bfloat16()
        with torch.no_grad():
            seconds = seconds_of(lambda: F.linear(a, b), args.runs or 20, warmups=3)
        shapes.append({"m": m, "n": n, "k": k, "seconds": seconds,
                       "gflops": 2 * m * n * k / seconds / 1e9})
    return {"shapes": shapes}


def attention(args):
    seq, heads, size = int(args.work[0]), 12, 64
    q, k, v = (torch.randn(1, heads, seq, size, requires_grad=True) for _ in range(3))
    cotangent = torch.randn(1, heads, seq, size)
    keep = torch.ones(seq, seq, dtype=torch.bool).tril()

    def work():
        if args.attention == "fused":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1) / math.sqrt(size)).masked_fill(~keep, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        y.backward(cotangent)
        q.grad = k.grad = v.grad = None

    seconds = seconds_of(work, args.runs or 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seq": seq, "seconds_per_step": seconds, "peak_rss_bytes": peak}


def model(args, training):
    name, batch, seq = args.work[0], int(args.work[1]), int(args.work[2])
    net, x = make_model(name, batch, seq, args.attention == "fused")
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.dtype == "bf16")
    if not training:
        net.eval()
        run = torch.compile(net) if args.compile else net

        def work():
            with torch.no_grad(), autocast:
                run(x)
    else:
        run = torch.compile(net) if args.compile else net
        if args.ranks > 1:
            run = nn.parallel.DistributedDataParallel(run)
        optimizer = torch.optim.AdamW(net.parameters(), 1e-4, foreach=True)

        def work():
            with autocast:
                logits = run(x)
                loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), x.view(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    seconds = seconds_of(work, args.runs or 4, warmups=2 if args.compile else 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if args.ranks > 1:
        largest = torch.tensor(peak)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        peak = int(largest)
    return {"model": name, "batch": batch * args.ranks, "seq": seq, "seconds_per_step": seconds,
            "peak_rss_bytes": peak}


def train_rank(rank, args):
    """Runs one rank of data-parallel training, which has its own rows of the batch."""
    os.environ.update(zip(("MASTER_ADDR", "MASTER_PORT"), args.address.split(":")))
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    if len(os.sched_getaffinity(0)) >= args.ranks * args.threads and args.rank is None:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cpus[rank * args.threads:(rank + 1) * args.threads])
    torch.set_num_threads(args.threads)
    torch.manual_seed(rank)
    figures = model(args, True)
    if rank == 0:
        show(args, figures)
    dist.destroy_process_group()


def show(args, figures):
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "dtype": args.dtype,
                      "ranks": args.ranks, **figures}))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kind", choices=["gemm", "train", "forward", "attention"])
    parser.add_argument("work", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--attention", choices=["math", "fused"], default="math")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--address", default="127.0.0.1:29401")
    args = parser.parse_args()
    if args.ranks > 1:
        if args.kind != "train" or int(args.work[1]) % args.ranks != 0:
            parser.error("--ranks requires train and a batch size that is a multiple of the number of ranks")
        args.work[1] = str(int(args.work[1]) // args.ranks)
        args.threads = max(1, args.threads // args.ranks)
        if args.rank is not None:
            return train_rank(args.rank, args)
        return multiprocessing.spawn(train_rank, (args,), args.ranks)
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    if args.kind == "gemm":
        figures = gemm(args)
    elif args.kind == "attention":
        figures = attention(args)
    else:
        figures = model(args, args.kind == "train")
    return show(args, figures)


if __name__ == "__main__":
    main()
