"""Compares segment functions, and cross_entropy with soft labels, with PyTorch, alternating run by run.

    cmake -B build -DWEFT_BENCH=ON && cmake --build build --target weft_segments_bench
    /usr/bin/python3 tests/bench/peers/segments.py [--rows 200000] [--width 64] [--segments 20000] [--threads 1]

PyTorch uses index_add_ and scatter_reduce, and autograd for the gradients. The cross-entropy has 4096 x 1000 logits.
"""

import argparse
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from json_process import JsonProcess  # noqa: E402


def peers(n, width, segments):
    x, ids, by_row, by_segment = torch.randn(n, width), torch.randint(0, segments, (n,)), torch.randn(n, width), torch.randn(segments, width)
    logits, targets = torch.randn(4096, 1000), torch.rand(4096, 1000)

    def total(x):
        return torch.zeros(segments, width).index_add(0, ids, x)

    def largest(x):
        return torch.full((segments, width), -torch.inf).scatter_reduce(0, ids[:, None].expand(n, width), x, "amax")

    def mean(x):
        return total(x) / torch.zeros(segments).index_add_(0, ids, torch.ones(n)).clamp(min=1)[:, None]

    def softmax(x):
        e = (x - largest(x).detach()[ids]).exp()
        return e / total(e)[ids]

    def gradient(function, x):
        x = x.detach().requires_grad_()
        function(x).sum().backward()
        return x.grad

    return {"sum": lambda: total(x), "mean": lambda: mean(x), "max": lambda: largest(x),
            "max gradient": lambda: gradient(lambda x: largest(x) * by_segment, x),
            "softmax": lambda: softmax(x), "softmax gradient": lambda: gradient(lambda x: softmax(x) * by_row, x),
            "soft cross_entropy gradient": lambda: gradient(lambda x: F.cross_entropy(x, targets, label_smoothing=0.1), logits)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in [("rows", 200000), ("width", 64), ("segments", 20000), ("threads", 1), ("rounds", 7)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--build", default="build")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sizes = [str(v) for v in (args.rows, args.width, args.segments, args.threads)]
    weft = JsonProcess([f"{args.build}/weft_segments_bench", *sizes])
    for name, function in peers(args.rows, args.width, args.segments).items():
        ours, theirs = [], []
        for _ in range(args.rounds + 1):  # the first round is not counted
            ours.append(weft.ask(name))
            begin = time.perf_counter()
            function()
            theirs.append((time.perf_counter() - begin) * 1e3)
        a, b = statistics.median(ours[1:]), statistics.median(theirs[1:])
        print(f"{name:28} weft {a:9.2f} ms, torch {b:9.2f} ms ({b / a:.2f} times as long)", flush=True)
    weft.close()


if __name__ == "__main__":
    main()
