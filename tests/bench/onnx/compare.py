#!/usr/bin/env python3
"""Compares imported networks with ONNX Runtime on the same files, alternating, on this machine.

usage: compare.py MODULES WORK [--rounds 9] [--threads 2] [--bench build/weft_onnx_bench] [--models NAME,NAME]

MODULES is a folder in which `npm install --ignore-scripts onnxruntime-node` was run. WORK receives the files of export_models.py and quantize_models.py, if
they do not exist. Both programs read their model once and then run alternately with the same inputs; the output is the median of all
rounds, in milliseconds, and the median of the ratios. The means of the outputs must agree.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from json_process import JsonProcess  # noqa: E402

TEXT = ("input_ids", "attention_mask", "token_type_ids")


def text(batch, seq, model="bert-base"):
    return model, [f"batch={batch}", f"seq={seq}"], [f"{name}=int64,{batch},{seq}" for name in TEXT]


def images(batch, model="resnet-50"):
    return model, [f"batch={batch}"], [f"pixels=float32,{batch},3,224,224"]


CASES = {"bert-base 1 x 128": text(1, 128), "bert-base 8 x 128": text(8, 128), "bert-base 1 x 512": text(1, 512),
         "resnet-50 x 1": images(1), "resnet-50 x 8": images(8),
         "bert-base int8 dynamic 1 x 128": text(1, 128, "bert-base-dynamic"),
         "bert-base int8 qdq 1 x 128": text(1, 128, "bert-base-qdq"), "resnet-50 int8 x 1": images(1, "resnet-50-qdq")}


def request(process):
    time.sleep(0.1)  # the threads of the other program stop spinning
    return process.ask("run")


def compare(args, name):
    model, axes, inputs = CASES[name]
    path = os.path.join(args.work, f"{model}.onnx")
    for script, target in (("export_models.py", "-".join(model.split("-")[:2])), ("quantize_models.py", model)):
        if not os.path.exists(os.path.join(args.work, f"{target}.onnx")):
            subprocess.run(["/usr/bin/python3", os.path.join(HERE, script), args.work, target], check=True)
    weft = JsonProcess([args.bench, path, args.threads, *axes])
    ort = JsonProcess(["node", os.path.join(HERE, "ort_network.cjs"), args.modules, path, args.threads, *inputs])
    weft.answer()
    version = ort.answer()["version"]
    rounds = [(request(weft), request(ort)) for _ in range(args.rounds)]
    weft.close()
    ort.close()
    ours, theirs = rounds[0]
    tolerance = 1e-2 if "int8" in name else 1e-4  # roundings of activations to bytes differ
    if abs(ours["mean"] - theirs["mean"]) > tolerance * abs(theirs["mean"]):
        sys.exit(f"compare.py: {name}: the mean of the output is {ours['mean']}, but {theirs['mean']} in ONNX Runtime")
    times = [1e3 * statistics.median(r[side]["seconds"] for r in rounds) for side in (0, 1)]
    ratio = statistics.median(theirs["seconds"] / ours["seconds"] for ours, theirs in rounds)
    print(f"| {name} | {times[0]:.1f} | {times[1]:.1f} | {ratio:.2f} | {version} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("work")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--bench", default="build/weft_onnx_bench")
    parser.add_argument("--models", default=",".join(CASES))
    args = parser.parse_args()
    print("| network | Weft, ms | ONNX Runtime, ms | ratio | version |\n| --- | ---: | ---: | ---: | --- |", flush=True)
    for name in args.models.split(","):
        compare(args, name)


if __name__ == "__main__":
    main()
