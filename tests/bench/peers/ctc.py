"""Compares the CTC loss and its gradient in Weft with PyTorch's ctc_loss, alternating.

    cmake -B build -DWEFT_BENCH=ON && cmake --build build --target weft_ctc_bench
    /usr/bin/python3 tests/bench/peers/ctc.py [--rounds 5] [--threads 1]

Both compute the loss of logits, including the softmax, and its gradient with respect to the logits.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time

# time, batch, labels, classes
SIZES = [(200, 16, 20, 30), (200, 16, 40, 1000), (500, 16, 50, 30), (1000, 16, 100, 100), (2000, 16, 100, 30),
         (2000, 1, 100, 30)]


def torch_steps(size, threads, steps):
    import torch

    torch.set_num_threads(threads)
    length, batch, labels, classes = size
    i = torch.arange(batch * length * classes)
    logits = ((i * 7919 % 1000).float() / 250).view(batch, length, classes).requires_grad_()
    targets = (torch.arange(batch * labels) * 31 % (classes - 1) + 1).view(batch, labels)
    input_lengths, target_lengths = torch.full((batch,), length), torch.full((batch,), labels)

    def step():
        logits.grad = None
        log_probs = torch.nn.functional.log_softmax(logits, 2).transpose(0, 1)
        loss = torch.nn.functional.ctc_loss(log_probs, targets, input_lengths, target_lengths)
        loss.backward()
        return loss

    loss = step()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    print(f"loss {loss.item():.4f}, {(time.perf_counter() - begin) / steps * 1e3:.3f} ms per step")


def measure(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    loss, taken = re.search(r"loss ([\d.]+), ([\d.]+) ms per step", output).groups()
    return float(loss), float(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--program", default="build/weft_ctc_bench")
    parser.add_argument("--torch", help="measure PyTorch for these sizes and exit (used internally)")
    args = parser.parse_args()
    if args.torch:
        torch_steps([int(n) for n in args.torch.split(",")], args.threads, args.steps)
        return
    print(f"{args.threads} threads, medians of {args.rounds} rounds")
    print("time batch labels classes    weft ms   torch ms   torch / weft")
    for size in SIZES:
        numbers = [str(n) for n in size]
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(measure([args.program, *numbers, str(args.threads), str(args.steps)]))
            theirs.append(measure([sys.executable, __file__, "--torch", ",".join(numbers), "--threads",
                                   str(args.threads), "--steps", str(args.steps)]))
        if abs(ours[0][0] - theirs[0][0]) > 1e-4 * theirs[0][0]:
            raise SystemExit(f"the losses differ: {ours[0][0]} and {theirs[0][0]}")
        a, b = (statistics.median(taken for _, taken in runs) for runs in (ours, theirs))
        print("{:4} {:5} {:6} {:7}".format(*size), f"{a:10.2f} {b:10.2f} {b / a:14.2f}")


if __name__ == "__main__":
    main()
