"""Compares the speed of Weft with PyTorch and ONNX Runtime: the same work, alternating, on this machine.

usage: compare.py [WORK ...] [--rounds N] [--threads N] [--weft build/weft] [--python python3]
                  [--onnx FOLDER] [--json FILE]

WORK is gemm, gemm-bf16, train, train-bf16, forward, forward-bf16, ort, attention, memory or scaling
(default: all except those for which the other framework is not installed). Every round runs Weft and the
peer once each, one after the other, in separate processes. The output is the medians over the rounds and
their ratio (above 1: Weft is faster or needs less memory). This is not a test: slow results do not fail.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = ("1024x1024x1024,256x2304x768,256x768x768,256x3072x768,256x768x3072,1024x3072x768,"
          "256x50257x768,64x768x768,1x768x768,4x768x3072,512x512x64")
MODELS = {"gpt2": (4, 256), "bert-base": (8, 128), "vit-b16": (8, 0)}


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} ...: {result.stderr.strip().splitlines()[-1:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


class Comparison:
    def __init__(self, args):
        self.args = args
        self.rows = []

    def weft(self, kind, *options):
        return run([self.args.weft, "bench", kind, "--json", "--threads", str(self.args.threads),
                    *options])

    def size(self, model):
        batch, seq = MODELS[model]
        return ["--model", model, "--batch", str(batch)] + (["--seq", str(seq)] if seq else [])

    def torch(self, *options):
        return run([self.args.python, os.path.join(HERE, "torch_peer.py"), *options, "--threads",
                    str(self.args.threads)])

    def ort(self, model, batch, seq):
        return run(["node", os.path.join(HERE, "ort_peer.js"), self.args.onnx, model, str(batch),
                    str(seq), str(self.args.threads)])

    def alternate(self, ours, theirs, key):
        """Returns the medians over the rounds of `key` for both sides, and the name of the peer."""
        pairs = [(ours(), theirs()) for _ in range(self.args.rounds)]
        return (statistics.median(key(a) for a, _ in pairs),
                statistics.median(key(b) for _, b in pairs), pairs[-1][1]["peer"])

    def show(self, work, ours, theirs, peer, unit="s"):
        ratio = theirs / ours
        self.rows.append({"work": work, "weft": ours, "peer": theirs, "unit": unit, "name": peer,
                          "ratio": ratio})
        print(f"{work:<44} {ours:>11.5g} {theirs:>11.5g} {unit:<3} {ratio:6.2f} x  {peer}", flush=True)
        return ratio

    def gemm(self, precisions, dtype):
        for precision in precisions:
            rounds = [(self.weft("gemm", "--precision", precision),
                       self.torch("gemm", SHAPES, "--dtype", dtype))
                      for _ in range(self.args.rounds)]
            ratios = []
            for i, shape in enumerate(rounds[0][0]["shapes"]):
                ours, theirs = (statistics.median(r[side]["shapes"][i]["seconds"] for r in rounds)
                                for side in (0, 1))
                name = f"gemm {shape['m']}x{shape['n']}x{shape['k']} {precision} / {dtype}"
                ratio = self.show(name, ours, theirs, rounds[0][1]["peer"])
                if shape["m"] >= 64:
                    ratios.append(ratio)
            mean = math.exp(statistics.mean(math.log(r) for r in ratios))
            print(f"{'':<8}M >= 64: geometric mean {mean:.2f} x, lowest {min(ratios):.2f} x")

    def model(self, kind, model, precisions, dtype):
        batch, seq = MODELS[model]
        for precision in precisions:
            ours, theirs, peer = self.alternate(
                lambda: self.weft(kind, *self.size(model), "--precision", precision),
                lambda: self.torch(kind, model, str(batch), str(seq), "--dtype", dtype),
                lambda figures: figures["seconds_per_step"])
            self.show(f"{kind} {model} {batch}x{seq} {precision} / {dtype}", ours, theirs, peer)

    def onnx(self):
        """Compares with ONNX Runtime. It packs the weights when it loads a model; so does Weft with --prepack."""
        for model, (batch, seq) in MODELS.items():
            if not os.path.exists(os.path.join(self.args.onnx, f"{model}.onnx")):
                print(f"skipped: no {model}.onnx in {self.args.onnx} (create it with export_onnx.py)")
                continue
            for precision in ("highest", "high"):
                ours, theirs, peer = self.alternate(
                    lambda: self.weft("forward", *self.size(model), "--precision", precision,
                                      "--prepack"),
                    lambda: self.ort(model, batch, seq),
                    lambda figures: figures["seconds_per_step"])
                self.show(f"forward {model} {batch}x{seq} {precision}", ours, theirs, peer)

    def attention(self):
        """Compares causal attention with gradients to the decomposed form; prints the planned memory by length."""
        needed = {}
        for seq in ("4096", "8192"):
            ours, theirs, peer = self.alternate(
                lambda: self.weft("attention", "--seq", seq),
                lambda: self.torch("attention", seq),
                lambda figures: figures["seconds_per_step"])
            self.show(f"attention 1x12x{seq}x64 causal, with gradients", ours, theirs, peer)
            needed[seq] = self.weft("attention", "--seq", seq, "--runs", "1")["planned_bytes"]
        print(f"{'':<8}planned memory: {needed['4096'] / 2**20:.0f} MiB at 4096, "
              f"{needed['8192'] / 2**20:.0f} MiB at 8192")

    def memory(self):
        ours, theirs, peer = self.alternate(
            lambda: self.weft("train", "--model", "gpt2", "--batch", "4", "--seq", "256"),
            lambda: self.torch("train", "gpt2", "4", "256"),
            lambda figures: figures["peak_rss_bytes"] / 2**20)
        self.show("peak memory of train gpt2 4x256", ours, theirs, peer, "MiB")
        print(f"{'':<8}Weft needs {ours / theirs:.2f} x the peer's memory")

    def scaling(self):
        """Measures the speed-up of two threads over one, for a training step and for plain multiply-adds."""
        rows = []
        for _ in range(self.args.rounds):
            one, two = (run([self.args.weft, "bench", "train", "--json", "--threads", t])
                        for t in ("1", "2"))
            rows.append((one["seconds_per_step"] / two["seconds_per_step"],
                         two["peak_flops_per_second"] / one["peak_flops_per_second"]))
        step, machine = (statistics.median(r[i] for r in rows) for i in (0, 1))
        print(f"two threads over one: training step {step:.2f} x, peak of the machine {machine:.2f} x, ratio "
              f"{step / machine:.2f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("work", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--onnx", default="build/onnx")
    parser.add_argument("--json")
    args = parser.parse_args()
    c = Comparison(args)
    works = {
        "gemm": lambda: c.gemm(["highest", "high"], "f32"),
        "gemm-bf16": lambda: c.gemm(["medium"], "bf16"),
        "train": lambda: c.model("train", "gpt2", ["highest", "high"], "f32"),
        "train-bf16": lambda: c.model("train", "gpt2", ["medium"], "bf16"),
        "forward": lambda: [c.model("forward", m, ["highest", "high"], "f32") for m in MODELS],
        "forward-bf16": lambda: [c.model("forward", m, ["medium"], "bf16") for m in MODELS],
        "ort": c.onnx,
        "attention": c.attention,
        "memory": c.memory,
        "scaling": c.scaling,
    }
    unknown = [w for w in args.work if w not in works]
    if unknown:
        sys.exit(f"compare.py: unknown work {unknown}; choose from: {', '.join(works)}")
    print(f"{'work':<44} {'Weft':>11} {'peer':>11}")
    for name in args.work or works:
        try:
            works[name]()
        except (RuntimeError, OSError) as error:
            print(f"skipped {name}: {error}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(c.rows, file, indent=1)


if __name__ == "__main__":
    main()
