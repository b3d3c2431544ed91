"""Writes GGUF files with random weights, in the shape of published models, for compare.py.

usage: write_gguf.py SHAPE FORMAT FILE      SHAPE: llama-246m, qwen3-0.6b, gemma3-1b; FORMAT: bf16, q8_0, q4_0

The tokenizer is a list of meaningless tokens. Norms are f32, as in published files.
"""
import struct
import sys

import numpy

# shape: (architecture, vocabulary, width, layers, heads, kv heads, head size, inner width)
SHAPES = {"llama-246m": ("llama", 32000, 1024, 14, 16, 16, 64, 2816),
          "qwen3-0.6b": ("qwen3", 151936, 1024, 28, 16, 8, 128, 3072),
          "gemma3-1b": ("gemma3", 262144, 1152, 26, 4, 1, 256, 6912)}
TYPES = {"f32": 0, "q4_0": 2, "q8_0": 8, "bf16": 30}
ALIGNMENT = 32


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(v):
    """The type and the bytes of a metadata value: bool, int (u32), float (f32), str, or a list of str, int or float."""
    if isinstance(v, bool):
        return struct.pack("<I?", 7, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    if isinstance(v, str):
        return struct.pack("<I", 8) + string(v)
    kind = {str: 8, int: 5, float: 6}[type(v[0])]
    head = struct.pack("<IIQ", 9, kind, len(v))
    if kind == 8:
        return head + b"".join(map(string, v))
    return head + numpy.asarray(v, "<i4" if kind == 5 else "<f4").tobytes()


def metadata(shape):
    arch, vocab, width, layers, heads, kv_heads, head_size, inner = SHAPES[shape]
    own = {"context_length": 4096, "embedding_length": width, "block_count": layers, "feed_forward_length": inner,
           "attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.key_length": head_size,
           "attention.value_length": head_size, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e4 if arch == "llama" else 1e6}
    if arch == "gemma3":
        own["attention.sliding_window"] = 512
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + [f"t{i}" for i in range(259, vocab)]
    return {"general.architecture": arch, "general.name": shape, **{f"{arch}.{k}": v for k, v in own.items()},
            "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": [0.0] * vocab,
            "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * (vocab - 259),
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 0}


def tensors(shape):
    """The names and sizes of all tensors; sizes of matrices are [outputs, inputs]."""
    arch, vocab, width, layers, heads, kv_heads, head_size, inner = SHAPES[shape]
    yield "token_embd.weight", (vocab, width)
    for i in range(layers):
        block = {"attn_norm": (width,), "attn_q": (heads * head_size, width), "attn_k": (kv_heads * head_size, width),
                 "attn_v": (kv_heads * head_size, width), "attn_output": (width, heads * head_size),
                 "attn_q_norm": (head_size,), "attn_k_norm": (head_size,), "ffn_norm": (width,),
                 "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
        if arch == "llama":
            del block["attn_q_norm"], block["attn_k_norm"]
        if arch == "gemma3":
            block |= {"post_attention_norm": (width,), "post_ffw_norm": (width,)}
        for name, sizes in block.items():
            yield f"blk.{i}.{name}.weight", sizes
    yield "output_norm.weight", (width,)
    if arch == "llama":
        yield "output.weight", (vocab, width)


def encode(values, kind):
    if kind == "f32":
        return values.astype("<f4").tobytes()
    if kind == "bf16":
        return ((values.view(numpy.uint32) + 0x8000) >> 16).astype("<u2").tobytes()
    blocks = values.reshape(-1, 32)
    if kind == "q4_0":
        scale = (numpy.abs(blocks).max(axis=1) / 8).astype("<f2")
        levels = numpy.rint(blocks / scale.astype("f4")[:, None]).clip(-8, 7).astype("i1") + 8
        out = numpy.empty(len(blocks), dtype=[("scale", "<f2"), ("q", "u1", 16)])
        out["scale"] = scale
        out["q"] = levels[:, :16] | levels[:, 16:] << 4
        return out.tobytes()
    scale = (numpy.abs(blocks).max(axis=1) / 127).astype("<f2")
    out = numpy.empty(len(blocks), dtype=[("scale", "<f2"), ("q", "i1", 32)])
    out["scale"] = scale
    out["q"] = numpy.rint(blocks / scale.astype("f4")[:, None]).clip(-127, 127)
    return out.tobytes()


def size(sizes, kind):
    count = int(numpy.prod(sizes))
    return {"f32": 4 * count, "bf16": 2 * count, "q8_0": count // 32 * 34, "q4_0": count // 32 * 18}[kind]


def write(shape, form, path):
    random = numpy.random.default_rng(1)
    listed = [(name, sizes, form if len(sizes) == 2 else "f32") for name, sizes in tensors(shape)]
    data = metadata(shape)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(listed), len(data))
    head += b"".join(string(k) + value(v) for k, v in data.items())
    offset = 0
    for name, sizes, kind in listed:
        head += string(name) + struct.pack("<I", len(sizes))
        head += struct.pack(f"<{len(sizes)}Q", *reversed(sizes)) + struct.pack("<IQ", TYPES[kind], offset)
        offset += -(-size(sizes, kind) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for name, sizes, kind in listed:
            values = random.standard_normal(sizes, dtype=numpy.float32) * numpy.float32(0.02)
            bits = encode(values + numpy.float32(1) if len(sizes) == 1 else values, kind)
            file.write(bits + bytes(-len(bits) % ALIGNMENT))


if __name__ == "__main__":
    write(*sys.argv[1:4])
