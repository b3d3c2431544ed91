#!/usr/bin/env python3
"""Compares the speed of `weft embed` with ONNX Runtime: the same encoder and lines, alternating, on this machine.

usage: compare_embed.py MODULES WORK TEXTS... [--lines 10000] [--rounds 7] [--threads 1,2] [--batch 32] [--weft build/weft]
                        [--vocab VOCAB_TXT]

MODULES is a folder in which `npm install --ignore-scripts onnxruntime-node` was run. WORK receives the encoder (created with
make_encoder.py if it does not exist) and the lines, a random sample of the tab-separated columns of TEXTS that contain a space
and have at most 300 characters. The vectors of both sides are compared first; if they differ by 1e-4 or more, nothing is timed.

Every round runs `weft embed`, and the peer in the order of the file and sorted by length, with each batch padded to its longest
line. The peer uses the faster of its two graphs, determined before the rounds, and reads token ids: only Weft's time includes
tokenisation. The process of the peer keeps running. Weft's is started in every round, and its time is the one that the program
prints, which includes planning but not loading the model. The output is the medians of lines per second and the ratio of the
medians (above 1: Weft is faster), preceded by the medians of CPU time, which other programs affect less (Weft's includes
loading). CPU time is meaningful only for one thread, because idle threads poll for work.
"""
import argparse
import array
import os
import random
import re
import resource
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
from json_process import JsonProcess  # noqa: E402
WIDTH = 384
LONGEST = 300


class Peer(JsonProcess):
    def __init__(self, modules, model, ids, threads, batch):
        super().__init__(["node", os.path.join(HERE, "ort_embed.cjs"), modules, model, ids, threads, batch])
        self.about = self.answer()


def draw_lines(texts, count):
    found = set()
    for path in texts:
        with open(path, encoding="utf-8", newline="\n") as file:
            for line in file:
                found.update(text for text in map(str.strip, line.split("\t"))
                             if " " in text and "\r" not in text and len(text) <= LONGEST)
    if len(found) < count:
        sys.exit(f"compare_embed.py: the texts have only {len(found)} suitable lines, but --lines is {count}")
    return random.Random(1).sample(sorted(found), count)


def weft(args, threads, out):
    """Runs `weft embed`; returns the seconds that it prints and its CPU seconds."""
    command = [args.weft, "embed", os.path.join(args.work, "encoder"), "--input", os.path.join(args.work, "lines.txt"), "--out",
               out, "--threads", threads, "--force"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(r" in ([0-9.]+) s: ", result.stderr)
    if result.returncode != 0 or not found:
        sys.exit(f"compare_embed.py: {' '.join(command)}: {result.stderr.strip()}")
    return {"seconds": float(found[1]), "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def floats(path, count):
    values = array.array("f")
    with open(path, "rb") as file:
        data = file.read()
    values.frombytes(data[len(data) - 4 * count:])  # skips the header of the .npy file
    return values


def largest_difference(args, peer):
    ours, theirs = (os.path.join(args.work, name) for name in ("weft.npy", "peer.f32"))
    weft(args, "2", ours)
    peer.ask(theirs)
    return max(abs(a - b) for a, b in zip(floats(ours, args.lines * WIDTH), floats(theirs, args.lines * WIDTH)))


def compare(args, threads):
    ids = os.path.join(args.work, "ids.txt")
    peers = {form: Peer(args.modules, os.path.join(args.work, form + ".onnx"), ids, threads, str(args.batch))
             for form in ("plain", "fused")}
    for form, peer in peers.items():
        difference = largest_difference(args, peer)
        print(f"{threads} threads, {form}.onnx: the vectors differ by {difference:.1e} at most", flush=True)
        if not difference < 1e-4:
            sys.exit("compare_embed.py: the vectors of both sides differ")
    tries = {form: min(peer.ask("sorted")["seconds"] for _ in range(2)) for form, peer in peers.items()}
    form = min(tries, key=tries.get)
    for other, peer in peers.items():
        if other != form:
            peer.close()
    times = {"weft": [], "file": [], "sorted": []}
    for _ in range(args.rounds):
        times["weft"].append(weft(args, threads, os.path.join(args.work, "weft.npy")))
        for order in ("file", "sorted"):
            times[order].append(peers[form].ask(order))
    about = peers[form].about
    peers[form].close()
    ours, in_file, by_length = (statistics.median(t["seconds"] for t in times[k]) for k in ("weft", "file", "sorted"))
    spread = ", ".join(f"{k} {min(t['seconds'] for t in v):.2f} to {max(t['seconds'] for t in v):.2f} s" for k, v in times.items())
    cpu = ", ".join(f"{k} {statistics.median(t['cpu'] for t in v):.2f} s" for k, v in times.items())
    print(f"ONNX Runtime {about['version']}, {form}.onnx, {about['tokens']} tokens; {spread}; CPU {cpu}")
    print(f"| {threads} | {args.lines / ours:.0f} | {args.lines / in_file:.0f} | {in_file / ours:.2f} | {args.lines / by_length:.0f} | "
          f"{by_length / ours:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("work")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--vocab", default="../shared/goldens/tokenizers/files/bert-base-uncased/vocab.txt")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    encoder = os.path.join(args.work, "encoder")
    if not os.path.exists(encoder):
        subprocess.run([sys.executable, os.path.join(HERE, "make_encoder.py"), args.vocab, args.work], check=True)
    lines = os.path.join(args.work, "lines.txt")
    with open(lines, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in draw_lines(args.texts, args.lines))
    with open(os.path.join(args.work, "ids.txt"), "w", encoding="utf-8") as file:
        subprocess.run([args.weft, "tokenizer", "encode", encoder, "--file", lines, "--lines", "--special"], stdout=file, check=True)
    print("| threads | Weft, lines/s | peer in file order | ratio | peer sorted by length | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for threads in args.threads.split(","):
        compare(args, threads)


if __name__ == "__main__":
    main()
