#!/usr/bin/env python3
"""Compares the speed of `weft embed` on texts of mixed length with ONNX Runtime and with BERT-base, alternating, on this machine.

usage: compare.py MODULES WORK [--lines 256] [--rounds 3] [--threads 1,2] [--batch 32] [--weft build/weft] [--vocab VOCAB_TXT]
                  [--no-peer]

MODULES is a folder in which `npm install --ignore-scripts onnxruntime-node` was run. WORK receives the models and lines that
make_models.py writes, if they do not exist. The vectors of both sides are compared first; if they differ by 1e-4 or more, nothing
is timed. Every round measures

 weft       ModernBERT without padding, lines of mixed length (tokenisation included)
 peer       the same graph in ONNX Runtime, in batches of --batch lines sorted by length, each padded to its longest line; the
            faster of two graphs (standard ops, ONNX Runtime's own ops); it reads token ids
 bert-512   Weft's BERT-base on lines of 512 tokens

The output is the medians of texts per second, and the ratios of Weft's ModernBERT to the other two, by wall time and by CPU time.
CPU time, which other programs on the machine affect less, is meaningful for one thread only, because idle threads poll for work.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from json_process import JsonProcess  # noqa: E402
WIDTH = 768


class Peer(JsonProcess):
    def __init__(self, args, form, threads):
        script = os.path.join(HERE, "..", "peers", "embed", "ort_embed.cjs")
        super().__init__(["node", script, args.modules, os.path.join(args.work, form + ".onnx"), os.path.join(args.work, "ids.txt"),
                          threads, str(args.batch)])
        self.about = self.answer()


def count_lines(path):
    with open(path, encoding="utf-8") as file:
        return sum(1 for _ in file)


def embed(args, model, lines, threads):
    """Runs `weft embed`; returns texts per second by wall time and by CPU time. The loading of the model is measured with one
    line and subtracted from the CPU time."""
    def run(file):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run([args.weft, "embed", os.path.join(args.work, model), "--input", file, "--out",
                                 os.path.join(args.work, model + ".npy"), "--threads", threads, "--force"],
                                capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = re.search(r" in ([0-9.]+) s: ", result.stderr)
        if result.returncode != 0 or not found:
            sys.exit(f"compare.py: weft embed: {result.stderr.strip()}")
        return float(found[1]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    one = os.path.join(args.work, "one.txt")
    with open(one, "w", encoding="utf-8") as file:
        file.write("word\n")
    _, loading = run(one)
    path = os.path.join(args.work, lines)
    seconds, cpu = run(path)
    texts = count_lines(path)
    return {"wall": texts / seconds, "cpu": texts / max(1e-9, cpu - loading)}


def vectors(path, rows):
    with open(path, "rb") as file:
        data = file.read()[-4 * rows * WIDTH:]  # without the header of a .npy file
    return memoryview(data).cast("f")


def fastest_peer(args, threads, rows):
    peers = {form: Peer(args, form, threads) for form in ("plain", "fused")}
    embed(args, "modernbert", "mixed.txt", "2")
    ours = vectors(os.path.join(args.work, "modernbert.npy"), rows)
    for form, peer in peers.items():
        peer.ask(os.path.join(args.work, "peer.f32"))
        most = max(abs(a - b) for a, b in zip(ours, vectors(os.path.join(args.work, "peer.f32"), rows)))
        print(f"{threads} threads, {form}.onnx: the vectors differ by {most:.1e} at most", flush=True)
        if not most < 1e-4:
            sys.exit("compare.py: the vectors of both sides differ")
    tries = {form: peer.ask("sorted")["cpu"] for form, peer in peers.items()}
    form = min(tries, key=tries.get)
    for other, peer in peers.items():
        if other != form:
            peer.close()
    return form, peers[form]


def compare(args, threads):
    rows = count_lines(os.path.join(args.work, "mixed.txt"))
    form, peer = ("", None) if args.no_peer else fastest_peer(args, threads, rows)
    found = {"weft": [], "peer": [], "bert-512": []}
    for _ in range(args.rounds):
        found["weft"].append(embed(args, "modernbert", "mixed.txt", threads))
        if peer:
            answer = peer.ask("sorted")
            found["peer"].append({"wall": rows / answer["seconds"], "cpu": rows / answer["cpu"]})
        found["bert-512"].append(embed(args, "bert", "long.txt", threads))
    if peer:
        print(f"ONNX Runtime {peer.about['version']}, {form}.onnx, {peer.about['tokens']} tokens")
        peer.close()
    for kind in ("wall", "cpu") if threads == "1" else ("wall",):
        median = {name: statistics.median(one[kind] for one in all) for name, all in found.items() if all}
        ratios = [f"{median['weft'] / median[name]:.2f}" if name in median else "-" for name in ("peer", "bert-512")]
        rates = [f"{median[name]:.2f}" if name in median else "-" for name in found]
        print(f"| {threads} | {kind} | " + " | ".join(rates + ratios) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("work")
    parser.add_argument("--lines", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--vocab", default="../shared/goldens/tokenizers/files/bert-base-uncased/vocab.txt")
    parser.add_argument("--no-peer", action="store_true", help="measure Weft only")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.work, "long.txt")):
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "make_models.py"), args.vocab, args.work, "--lines", str(args.lines)],
                       check=True)
    with open(os.path.join(args.work, "ids.txt"), "w", encoding="utf-8") as file:
        subprocess.run([args.weft, "tokenizer", "encode", os.path.join(args.work, "bert"), "--file",
                        os.path.join(args.work, "mixed.txt"), "--lines", "--special"], stdout=file, check=True)
    print("| threads | time | Weft, texts/s | ONNX Runtime | BERT-base, 512 tokens | Weft / ONNX Runtime | Weft / BERT-base |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for threads in args.threads.split(","):
        compare(args, threads)


if __name__ == "__main__":
    main()
