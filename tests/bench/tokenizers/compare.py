#!/usr/bin/env python3
"""Compares the speed of Weft's tokenizers with the Rust library `tokenizers`: the same work, alternating, on this machine.

usage: compare.py MODULES TOKENIZER... --corpus CORPUS... [--rounds N] [--threads 1,2] [--bench build/weft_tokenizer_bench]

MODULES is a folder in which `npm install --ignore-scripts tokenizers` was run. TOKENIZER is a folder with a
tokenizer.json, CORPUS a file written by corpus.py. Both sides are long-running processes; in every round each encodes all
documents once, one side after the other. Before the rounds, the ids and offsets (in code points) of both sides are compared
by a digest. The output is the medians, in MB of UTF-8 per second, and their ratio (above 1: Weft is faster). The cost of
passing strings from JavaScript to the library (column `way in`) is subtracted from the peer's time; its results are not
converted to JavaScript objects.
"""
import argparse
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from json_process import JsonProcess  # noqa: E402
# A tokenizer that looks each document up as one word and does not find it.
EMPTY = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
         "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}


class Side(JsonProcess):
    def __init__(self, command, **environment):
        super().__init__(command, environment)
        self.load = self.answer()["load"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules")
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--corpus", nargs="+", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--bench", default="build/weft_tokenizer_bench")
    args = parser.parse_args()
    empty = os.path.join(args.modules, "empty-tokenizer.json")
    with open(empty, "w", encoding="utf-8") as file:
        json.dump(EMPTY, file)
    print("| tokenizer | corpus | threads | Weft MB/s | with bytes | peer MB/s | way in s | ratio | same |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for tokenizer in args.tokenizers:
        for corpus in args.corpus:
            megabytes = os.path.getsize(corpus) / 1e6
            for threads in args.threads.split(","):
                peer = Side(["node", "--max-old-space-size=8192", os.path.join(HERE, "peer.cjs"), args.modules,
                             os.path.join(tokenizer, "tokenizer.json"), empty, corpus],
                            TOKENIZERS_PARALLELISM="false" if threads == "1" else "true", RAYON_NUM_THREADS=threads)
                weft = Side([args.bench, tokenizer, corpus, threads])
                same = "not compared"
                if threads == args.threads.split(",")[0]:
                    ours, theirs = weft.ask("digest"), peer.ask("digest")
                    same = "yes" if all(ours[k] % 2**53 == theirs[k] for k in ("count", "ids", "offsets")) else "NO"
                times = {"points": [], "bytes": [], "peer": [], "empty": []}
                for _ in range(args.rounds):
                    times["points"].append(weft.ask("points")["seconds"])
                    times["peer"].append(peer.ask("peer")["seconds"])
                    times["bytes"].append(weft.ask("bytes")["seconds"])
                    times["empty"].append(peer.ask("empty")["seconds"])
                weft.close()
                peer.close()
                points, bytes_, theirs, empty_ = (statistics.median(times[k]) for k in ("points", "bytes", "peer", "empty"))
                theirs -= empty_
                print(f"| {os.path.basename(tokenizer)} | {os.path.basename(corpus)} | {threads} | {megabytes / points:.1f} | "
                      f"{megabytes / bytes_:.1f} | {megabytes / theirs:.1f} | {empty_:.2f} | {theirs / points:.2f} | {same} |",
                      flush=True)
        print(f"loading {os.path.basename(tokenizer)}: Weft {weft.load * 1e3:.0f} ms, peer {peer.load * 1e3:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
