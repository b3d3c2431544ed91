#!/usr/bin/env python3
"""Measures how long a large bf16 folder takes to open, and how much memory generation needs.

    bf16_folder.py PROGRAM FOLDER [--gigabytes 4] [--shards 4] [--tokens 16]

Writes a LLaMA-shaped model with random weights to FOLDER, unless the folder exists, and runs
`PROGRAM inspect` and `PROGRAM generate` on it. Every file is read before, so that the page cache
is warm. Prints, as JSON:

- inspect_seconds: the time of `weft inspect FOLDER`
- first_token_seconds: the time of `weft generate` with one prompt id and one new id
- token_seconds: the time of a further token
- open_seconds: first_token_seconds - token_seconds, that is, the time without the computation
- of_size: the largest resident memory of `weft generate`, including mapped pages, divided by the
  size of the weights
"""
import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import time

WIDTH, INNER, HEADS, KV_HEADS, VOCAB = 2048, 8192, 32, 8, 32000


def layer_shapes(i):
    kv = WIDTH * KV_HEADS // HEADS
    p = f"model.layers.{i}."
    yield p + "input_layernorm.weight", [WIDTH]
    yield p + "post_attention_layernorm.weight", [WIDTH]
    for name, rows in (("q", WIDTH), ("k", kv), ("v", kv), ("o", WIDTH)):
        yield p + f"self_attn.{name}_proj.weight", [rows, WIDTH]
    for name in ("gate", "up"):
        yield p + f"mlp.{name}_proj.weight", [INNER, WIDTH]
    yield p + "mlp.down_proj.weight", [WIDTH, INNER]


def size(shape):
    return 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)


def write_folder(folder, gigabytes, shards):
    layer = sum(size(s) for _, s in layer_shapes(0))
    layers = max(1, round((gigabytes * 1e9 - 4 * VOCAB * WIDTH) / layer))
    shapes = [("model.embed_tokens.weight", [VOCAB, WIDTH])]
    for i in range(layers):
        shapes += layer_shapes(i)
    shapes += [("model.norm.weight", [WIDTH]), ("lm_head.weight", [VOCAB, WIDTH])]
    # Random numbers between 0.002 and 0.03 in magnitude: two exponents and any mantissa.
    source = random.Random(1)
    half = 1 << 24
    block = bytearray(2 * half)
    block[0::2] = source.randbytes(half)
    block[1::2] = source.randbytes(half).translate(bytes([0x3B, 0x3C, 0xBB, 0xBC] * 64))
    ones = struct.pack("<H", 0x3F80)
    folder.mkdir(parents=True)
    weight_map = {}
    for part in range(shards):
        name = f"model-{part + 1:05}-of-{shards:05}.safetensors"
        own = shapes[len(shapes) * part // shards:len(shapes) * (part + 1) // shards]
        header, at = {}, 0
        for tensor, shape in own:
            header[tensor] = {"dtype": "BF16", "shape": shape,
                              "data_offsets": [at, at + size(shape)]}
            at += size(shape)
            weight_map[tensor] = name
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / name, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for tensor, shape in own:
                left = size(shape)
                while left > 0:
                    bytes_ = ones * (left // 2) if "norm" in tensor else block[:left]
                    out.write(bytes_)
                    left -= len(bytes_)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCAB,
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": layers,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16"}))


def run(command):
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {err.decode()}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024, out.decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=16)
    args = parser.parse_args()
    if not args.folder.exists():
        write_folder(args.folder, args.gigabytes, args.shards)
    files = sorted(args.folder.glob("*.safetensors"))
    weights = sum(file.stat().st_size for file in files)
    for file in files:
        with open(file, "rb") as opened:
            while opened.read(1 << 24):
                pass
    generate = [args.program, "generate", args.folder, "--prompt-ids", "1", "--ids", "--tokens"]
    inspect, _, _ = run([args.program, "inspect", args.folder])
    first = min(run(generate + ["1"])[0] for _ in range(3))
    whole, memory, _ = run(generate + [str(args.tokens)])
    token = (whole - first) / (args.tokens - 1)
    print(json.dumps({"bytes": weights, "inspect_seconds": round(inspect, 3),
                      "first_token_seconds": round(first, 3), "token_seconds": round(token, 3),
                      "open_seconds": round(first - token, 3),
                      "of_size": round(memory / weights, 3)}))


if __name__ == "__main__":
    main()
