#!/usr/bin/env python3
"""Compares the speed of two builds of the program `weft` on benchmarks, alternating, on this machine.

usage: compare_builds.py BASE NEW [WORK...] [--rounds 5] [--least RATIO]

BASE and NEW are two programs, for example of the commit before a change and of the change. WORK is a benchmark of `weft bench` with its
options, as one argument; the default is "train", "forward" and "decode". Example:

  compare_builds.py /tmp/base/weft build/weft "train --batch 4 --runs 3" "gemm --m 64 --n 768 --k 768 --threads 2"

Every round runs each work with both programs, one after the other; the order changes from round to round, so that a slow change of the
machine's speed affects both. The output has one line per time: the medians of both programs over the rounds, and the median, minimum and
maximum over the rounds of the time of BASE divided by the time of NEW. A ratio above 1 means that NEW is faster. If the range of ratios
includes 1, the difference is not significant: use more rounds.

The exit code is 1 if the median ratio of a work is below --least.
"""
import argparse
import json
import shlex
import statistics
import subprocess
import sys

DEFAULT = ["train", "forward", "decode"]


def times(figures):
    """Returns the measured times of a benchmark in seconds, by name."""
    if "shapes" in figures:
        return {f"{s['m']} x {s['n']} x {s['k']}": s["seconds"] for s in figures["shapes"]}
    found = {name: value for name, value in figures.items() if name.startswith("seconds_per_")}
    if not found:
        raise SystemExit(f"compare_builds.py: weft bench {figures.get('benchmark')} prints no seconds_per_... in its JSON object")
    return found


def run(program, work):
    command = [program, "bench", *shlex.split(work), "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"compare_builds.py: {shlex.join(command)} ended with exit code {result.returncode}:\n{result.stderr.strip()}")
    return times(json.loads(result.stdout))


def compare(base, new, work, rounds):
    """Returns {name: ([seconds of BASE], [seconds of NEW])}, with one entry per round."""
    both = {}
    for i in range(rounds):
        pair = [None, None]
        for side in ((0, 1) if i % 2 == 0 else (1, 0)):
            pair[side] = run((base, new)[side], work)
        for name, seconds in pair[0].items():
            if name in pair[1]:
                sides = both.setdefault(name, ([], []))
                sides[0].append(seconds)
                sides[1].append(pair[1][name])
    return both


def duration(seconds):
    return f"{seconds:.3f} s" if seconds >= 1 else f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("works", nargs="*", metavar="WORK")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float)
    args = parser.parse_intermixed_args()  # options may also precede works
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    slower = []
    for work in args.works or DEFAULT:
        print(f"bench {work}")
        for name, (base, new) in compare(args.base, args.new, work, args.rounds).items():
            ratios = [b / n for b, n in zip(base, new)]
            ratio = statistics.median(ratios)
            print(f"  {name:<24} {duration(statistics.median(base)):>12} {duration(statistics.median(new)):>12}"
                  f"   {ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f})", flush=True)
            if args.least is not None and ratio < args.least:
                slower.append(f"{work}: {name}")
    if slower:
        sys.exit(f"compare_builds.py: NEW is slower than allowed by --least {args.least}: {'; '.join(slower)}")


if __name__ == "__main__":
    main()
