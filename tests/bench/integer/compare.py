#!/usr/bin/env python3
"""Compares BERT-base (8 x 128 tokens) and ViT-B/16 (8 images) with int8 weights and activations with ONNX Runtime's dynamic
quantisation and with both programs in float32, alternating, on this machine.

usage: compare.py MODULES WORK [--rounds 5] [--threads 2] [--weft build/weft] [--models bert-base,vit-b16]

MODULES is a folder in which `npm install --ignore-scripts onnxruntime-node` was run. WORK receives the graphs of make_models.py, if
they do not exist. Every round runs each program; the output is the median of all rounds, in milliseconds, and the ratios of Weft's
int8 to the others. Weights are random, so only times are compared.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from json_process import JsonProcess  # noqa: E402
SIZES = {"bert-base": ["--batch", "8", "--seq", "128"], "vit-b16": ["--batch", "8"]}


def weft(args, model, extra):
    command = [args.weft, "bench", "forward", "--model", model, *SIZES[model], "--threads", args.threads, "--runs", "3", "--json"]
    result = subprocess.run(command + extra, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command + extra)}: {result.stderr.strip()}")
    return json.loads(result.stdout)["seconds_per_step"]


def compare(args, model):
    script = os.path.join(HERE, "ort_encoder.cjs")
    peers = {form: JsonProcess(["node", script, args.modules, os.path.join(args.work, f"{model}.{form}.onnx"), args.threads])
             for form in ("f32", "int8")}
    versions = {peer.answer()["version"] for peer in peers.values()}
    found = {"Weft int8": [], "Weft f32": [], "ORT int8": [], "ORT f32": []}
    for _ in range(args.rounds):
        found["Weft int8"].append(weft(args, model, ["--weights", "int8", "--activations", "int8"]))
        found["ORT int8"].append(statistics.median(peers["int8"].ask("run")["seconds"] for _ in range(3)))
        found["Weft f32"].append(weft(args, model, []))
        found["ORT f32"].append(statistics.median(peers["f32"].ask("run")["seconds"] for _ in range(3)))
    for peer in peers.values():
        peer.close()
    median = {name: statistics.median(all) for name, all in found.items()}
    ours = median["Weft int8"]
    print(f"| {model} | " + " | ".join(f"{1e3 * t:.0f}" for t in median.values())
          + f" | {median['ORT int8'] / ours:.2f} | {median['Weft f32'] / ours:.2f} | {'/'.join(versions)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("work")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--models", default="bert-base,vit-b16")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.work, "vit-b16.int8.onnx")):
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "make_models.py"), args.work], check=True)
    print("| model | Weft int8, ms | Weft f32 | ONNX Runtime int8 | ONNX Runtime f32 | ONNX Runtime int8 / Weft int8 | "
          "Weft f32 / Weft int8 | version |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |", flush=True)
    for model in args.models.split(","):
        compare(args, model)


if __name__ == "__main__":
    main()
