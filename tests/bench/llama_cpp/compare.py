"""Compares the speed of Weft and llama.cpp on decoders with random weights, alternating run by run.

    cmake -B build -DWEFT_BENCH=ON && cmake --build build --target weft_decoder_bench
    mkdir /tmp/peer && cd /tmp/peer && npm install --ignore-scripts node-llama-cpp @node-llama-cpp/linux-x64
    /usr/bin/python3 tests/bench/llama_cpp/compare.py /tmp/peer [--shapes qwen3-0.6b gemma3-1b] [--formats bf16 int8]
        [--activations none int8] [--precisions highest medium] [--threads 1 2] [--rounds 5] [--works prefill decode]
        [--prefill 512] [--context 128] [--tokens 128] [--folder FOLDER]

Both programs process a prompt of 512 tokens at once (prefill), and 128 tokens one by one after a prompt of 128 tokens
(decode); both compute the logits of the last token and choose no token. int8 and q8_0 are compared with Q8_0
(llama.cpp), int4 with Q4_0, bf16 with BF16. Before a product, llama.cpp rounds activations to the format of the weights, also in
decoding: to eight bits with a scale per 32 for Q8_0 and Q4_0, and to bfloat16 for BF16. Weft keeps float32 accuracy at
precision "highest", and rounds the activations of prompts to bfloat16 at "medium". With --activations int8, it rounds
activations to eight bits with a scale per row, and the precision makes no difference. llama.cpp runs with flash attention and f16
caches, Weft with bf16 caches. The ratio is llama.cpp's time divided by Weft's: above 1, Weft is faster. Medians and
minima are over the rounds; CPU seconds, which count all threads, matter on machines that are busy with other programs.
Without Node.js or the package, nothing is compared.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))
from json_process import JsonProcess  # noqa: E402

PEER_FORMATS = {"bf16": "bf16", "int8": "q8_0", "q8_0": "q8_0", "int4": "q4_0"}


def compare(args, shape, form, activations, threads, precision):
    file = pathlib.Path(args.folder) / f"{shape}-{PEER_FORMATS[form]}.gguf"
    if not file.exists():
        subprocess.run([sys.executable, HERE / "write_gguf.py", shape, PEER_FORMATS[form], file], check=True)
    weft = JsonProcess([f"{args.build}/weft_decoder_bench", shape, form, activations, str(threads), precision])
    peer = JsonProcess(["node", str(HERE / "peer.mjs"), args.peer, str(file), str(threads)])
    print(f"\n{shape}, {form}, activations {activations}, {precision}, {threads} threads\n  Weft: {weft.answer()['info']}")
    info = peer.answer()
    print(f"  llama.cpp: {file.name}, flash attention {info['flash_attention']}, {info['info']}")
    for work, tokens in ((f"prefill {args.prefill}", args.prefill),
                         (f"decode {args.context} {args.tokens}", args.tokens)):
        if work.split()[0] not in args.works:
            continue
        for side in (weft, peer):
            side.ask(work)
        rounds = [(weft.ask(work), peer.ask(work)) for _ in range(args.rounds)]
        for key in ("seconds", "cpu_seconds"):
            ours, theirs = ([r[side][key] for r in rounds] for side in (0, 1))
            ratio = statistics.median(b / a for a, b in zip(ours, theirs))
            print(f"  {work:<16} {key:<12} Weft {tokens / statistics.median(ours):8.1f} tokens/s (best "
                  f"{tokens / min(ours):8.1f}), llama.cpp {tokens / statistics.median(theirs):8.1f} (best "
                  f"{tokens / min(theirs):8.1f}), ratio {ratio:.2f} (of the best {min(theirs) / min(ours):.2f})",
                  flush=True)
    weft.close()
    peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", help="the folder with node_modules")
    parser.add_argument("--shapes", nargs="+", default=["qwen3-0.6b", "gemma3-1b"])
    parser.add_argument("--formats", nargs="+", default=["bf16", "int8"], choices=PEER_FORMATS)
    parser.add_argument("--activations", nargs="+", default=["none"], choices=["none", "int8"])
    parser.add_argument("--works", nargs="+", default=["prefill", "decode"], choices=["prefill", "decode"])
    parser.add_argument("--precisions", nargs="+", default=["highest", "medium"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    for name, default in [("rounds", 5), ("prefill", 512), ("context", 128), ("tokens", 128)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--build", default="build")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="for the GGUF files, up to 2 GB each")
    args = parser.parse_args()
    if shutil.which("node") is None or not os.path.isdir(f"{args.peer}/node_modules/node-llama-cpp"):
        print("llama_cpp: skipped, because Node.js or node-llama-cpp is missing")
        return
    for shape in args.shapes:
        for form in args.formats:
            for activations in args.activations:
                for threads in args.threads:
                    for precision in args.precisions if activations == "none" else args.precisions[:1]:
                        compare(args, shape, form, activations, threads, precision)


if __name__ == "__main__":
    main()
