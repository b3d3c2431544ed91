#!/usr/bin/env python3
"""Compares embeddings per second of a ServedModel, in int8, with ONNX Runtime's dynamic quantisation: the same encoder and texts,
alternating, on this machine.

usage: compare_embed.py MODULES WORK TEXTS... [--shape bert-base] [--lines 512] [--longest 256] [--rounds 3] [--threads 1,2]
                        [--batch 32] [--weft build/weft] [--server build/weft_embed_server] [--vocab VOCAB_TXT]

MODULES is a folder in which `npm install --ignore-scripts onnxruntime-node` was run. WORK receives the encoder of
../peers/embed/make_encoder.py, if it does not exist, its quantised file, and the texts: words of the files TEXTS, from 4 words to
--longest, with a log-uniform distribution of lengths.

Weft receives texts, in requests of 32 that wait together (embed_server.cc); tokenisation and the queue are included. ONNX Runtime
receives token ids, sorted by length over all texts, in batches of --batch that are padded to their longest text; it runs the faster
of two graphs. The vectors of both sides are compared first. The output is the medians of texts per second and their ratio (above
1: Weft is faster), and the CPU seconds of each round, which other programs affect less.
"""
import argparse
import array
import math
import os
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from json_process import JsonProcess  # noqa: E402
EMBED = os.path.join(HERE, "..", "peers", "embed")


def draw_texts(files, count, longest):
    words = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            words += file.read().split()
    rng, texts = random.Random(1), []
    for _ in range(count):
        size = round(math.exp(rng.uniform(math.log(4), math.log(longest))))
        begin = rng.randrange(len(words) - size)
        texts.append(" ".join(words[begin:begin + size]))
    return texts


def rows_of(path, count):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    width = len(values) // count
    return [values[i * width:(i + 1) * width] for i in range(count)]


def least_cosine(args, weft, peer):
    found = []
    for name, process in (("weft", weft), ("peer", peer)):
        path = os.path.join(os.path.abspath(args.work), name + ".f32")
        process.ask(path)
        found.append(rows_of(path, args.lines))
    return min(sum(x * y for x, y in zip(a, b)) for a, b in zip(*found))


def compare(args, threads):
    file, texts, ids = (os.path.join(args.work, name) for name in ("int8.weft", "texts.txt", "ids.txt"))
    weft = JsonProcess([args.server, file, texts, threads])
    weft.answer()
    peers = {form: JsonProcess(["node", os.path.join(EMBED, "ort_embed.cjs"), args.modules, os.path.join(args.work, form + ".onnx"),
                                ids, threads, str(args.batch)]) for form in ("int8_plain", "int8_fused")}
    about = {form: peer.answer() for form, peer in peers.items()}
    tries = {form: min(peer.ask("sorted")["seconds"] for _ in range(2)) for form, peer in peers.items()}
    form = min(tries, key=tries.get)
    peer = peers.pop(form)
    for other in peers.values():
        other.close()
    cosine = least_cosine(args, weft, peer)
    if not cosine > 0.98:
        sys.exit(f"compare_embed.py: the vectors of both sides differ: the least cosine is {cosine:.4f}")
    times = {"weft": [], "peer": []}
    for _ in range(args.rounds):
        for name, process in (("weft", weft), ("peer", peer)):
            times[name].append(process.ask("sorted"))
    weft.close()
    peer.close()
    seconds, cpu = ({name: statistics.median(t[key] for t in all) for name, all in times.items()} for key in ("seconds", "cpu"))
    print(f"{args.shape}, {about[form]['tokens']} tokens, ONNX Runtime {about[form]['version']}, {form}.onnx, least cosine "
          f"{cosine:.4f}; CPU {cpu['weft']:.2f} s and {cpu['peer']:.2f} s", flush=True)
    print(f"| {threads} | {args.lines / seconds['weft']:.1f} | {args.lines / seconds['peer']:.1f} | "
          f"{seconds['peer'] / seconds['weft']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("work")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--shape", default="bert-base", choices=["minilm", "bert-base"])
    parser.add_argument("--lines", type=int, default=512)
    parser.add_argument("--longest", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--server", default="build/weft_embed_server")
    parser.add_argument("--vocab", default="../shared/goldens/tokenizers/files/bert-base-uncased/vocab.txt")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    encoder, file = os.path.join(args.work, "encoder"), os.path.join(args.work, "int8.weft")
    if not os.path.exists(file):
        subprocess.run([sys.executable, os.path.join(EMBED, "make_encoder.py"), args.vocab, args.work, args.shape], check=True)
        subprocess.run([args.weft, "quantize", encoder, "--weights", "int8", "--activations", "int8", "--out", file], check=True)
    texts = os.path.join(args.work, "texts.txt")
    with open(texts, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(text + "\n" for text in draw_texts(args.texts, args.lines, args.longest))
    with open(os.path.join(args.work, "ids.txt"), "w", encoding="utf-8") as out:
        subprocess.run([args.weft, "tokenizer", "encode", encoder, "--file", texts, "--lines", "--special"], stdout=out, check=True)
    print("| threads | Weft, texts/s | ONNX Runtime, texts/s | ratio |")
    print("| ---: | ---: | ---: | ---: |", flush=True)
    for threads in args.threads.split(","):
        compare(args, threads)


if __name__ == "__main__":
    main()
