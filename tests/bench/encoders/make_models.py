#!/usr/bin/env python3
"""Writes encoders in the shape of ModernBERT-base and BERT-base with random weights, and texts of mixed length.

usage: make_models.py VOCAB_TXT OUT [--lines 256] [--shortest 8] [--longest 512] [--layers N]

OUT receives
 modernbert/      a ModernBertModel: 22 layers of width 768, 12 heads, GeGLU of width 1152, every third layer global, the others
                  with a window of 128 tokens, vocabulary 50368
 bert/            a BertModel: 12 layers of width 768, 12 heads, feed-forward width 3072
 plain.onnx       ModernBERT with the same weights, in the standard ops of opset 17
 fused.onnx       as above, in the ops of ONNX Runtime: RotaryEmbedding, MultiHeadAttention, SkipLayerNormalization, Gelu
 mixed.txt        lines whose numbers of tokens are distributed log-uniformly from --shortest to --longest
 long.txt         lines of --longest tokens
Both ONNX models have the inputs `ids` and `mask`, int64 [batch, seq], and the output `vectors` [batch, 768], the mean over the
tokens of a row, normalised to length 1. Every word of the lines is one token of VOCAB_TXT, the vocabulary of BERT. Needs numpy
and python3-onnx.
"""
import argparse
import json
import math
import os
import random
import shutil
import struct

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LONGEST = 768, 12, 512
SIZE = WIDTH // HEADS
MODERN = {"layers": 22, "inner": 1152, "vocab": 50368, "window": 128, "every": 3, "bases": (160000.0, 10000.0)}
BERT = {"layers": 12, "inner": 3072}


class Weights:
    def __init__(self):
        self.random, self.tensors = numpy.random.default_rng(1), {}

    def uniform(self, name, *sizes, about=0.0, by=0.05):
        self.tensors[name] = about + self.random.uniform(-by, by, sizes).astype(numpy.float32)

    def norm(self, name, bias):
        self.uniform(name + ".weight", WIDTH, about=1.0)
        if bias:
            self.uniform(name + ".bias", WIDTH)

    def linear(self, name, out, inside):
        self.uniform(name + ".weight", out, inside)
        self.uniform(name + ".bias", out)


def modernbert():
    w = Weights()
    w.uniform("embeddings.tok_embeddings.weight", MODERN["vocab"], WIDTH)
    w.norm("embeddings.norm", False)
    for i in range(MODERN["layers"]):
        layer = f"layers.{i}."
        if i > 0:
            w.norm(layer + "attn_norm", False)
        w.uniform(layer + "attn.Wqkv.weight", 3 * WIDTH, WIDTH)
        w.uniform(layer + "attn.Wo.weight", WIDTH, WIDTH)
        w.norm(layer + "mlp_norm", False)
        w.uniform(layer + "mlp.Wi.weight", 2 * MODERN["inner"], WIDTH)
        w.uniform(layer + "mlp.Wo.weight", WIDTH, MODERN["inner"])
    w.norm("final_norm", False)
    return w.tensors


def bert(vocab):
    w = Weights()
    w.uniform("embeddings.word_embeddings.weight", vocab, WIDTH)
    w.uniform("embeddings.position_embeddings.weight", LONGEST, WIDTH)
    w.uniform("embeddings.token_type_embeddings.weight", 2, WIDTH)
    w.norm("embeddings.LayerNorm", True)
    for i in range(BERT["layers"]):
        layer = f"encoder.layer.{i}."
        for part in ("query", "key", "value"):
            w.linear(layer + "attention.self." + part, WIDTH, WIDTH)
        w.linear(layer + "attention.output.dense", WIDTH, WIDTH)
        w.norm(layer + "attention.output.LayerNorm", True)
        w.linear(layer + "intermediate.dense", BERT["inner"], WIDTH)
        w.linear(layer + "output.dense", WIDTH, BERT["inner"])
        w.norm(layer + "output.LayerNorm", True)
    w.linear("pooler.dense", WIDTH, WIDTH)
    return w.tensors


def write_folder(path, config, tensors, vocab_txt):
    os.makedirs(path, exist_ok=True)
    shutil.copyfile(vocab_txt, os.path.join(path, "vocab.txt"))
    with open(os.path.join(path, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True}, file)
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(path, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


class ModernGraph:
    """Builds the ONNX graph of ModernBERT."""

    def __init__(self, tensors, fused):
        self.tensors, self.fused, self.nodes, self.constants = tensors, fused, [], {}

    def constant(self, name, value):
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        return name

    def op(self, kind, inputs, outputs=1, domain="", **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def number(self, value):
        return self.constant(f"number_{value}", numpy.float32(value))

    def integers(self, *values):
        return self.constant("int_" + "_".join(map(str, values)), numpy.array(values, numpy.int64))

    def matmul(self, name, x, rows=slice(None)):
        weight = self.tensors[name + ".weight"][rows]
        return self.op("MatMul", [x, self.constant(f"{name}.{rows.start}.transposed", weight.T)])

    def weight(self, name):
        return self.constant(name, self.tensors[name + ".weight"])

    def norm(self, name, x):
        return self.op("LayerNormalization", [x, self.weight(name)], axis=-1, epsilon=1e-5)

    def add_and_norm(self, name, x, more):
        """Returns x + more and its norm."""
        if self.fused:
            out = [f"v{len(self.nodes)}_{i}" for i in range(4)]
            out[1] = out[2] = ""
            self.nodes.append(helper.make_node("SkipLayerNormalization", [x, more, self.weight(name)], out, domain="com.microsoft",
                                               epsilon=1e-5))
            return out[3], out[0]
        total = self.op("Add", [x, more])
        return total, self.norm(name, total)

    def caches(self, base):
        angles = numpy.arange(LONGEST)[:, None] * base ** -(numpy.arange(0, SIZE, 2) / SIZE)
        return numpy.cos(angles).astype(numpy.float32), numpy.sin(angles).astype(numpy.float32)

    def rotate(self, x, base):
        """Rotates x [batch, seq, width] (fused) or [batch, heads, seq, size]."""
        cos, sin = self.caches(base)
        if self.fused:
            return self.op("RotaryEmbedding", [x, self.positions, self.constant(f"cos_{base}", cos), self.constant(f"sin_{base}", sin)],
                           domain="com.microsoft", num_heads=HEADS, rotary_embedding_dim=SIZE)
        if base not in self.angles:
            self.angles[base] = [self.op("Slice", [self.constant(f"{name}_{base}", numpy.concatenate([table, table], 1)),
                                                   self.integers(0), self.length, self.integers(0)])
                                 for name, table in (("cos", cos), ("sin", sin))]
        first, second = self.op("Split", [x, self.integers(SIZE // 2, SIZE // 2)], 2, axis=-1)
        half = self.op("Concat", [self.op("Neg", [second]), first], axis=-1)
        cosines, sines = self.angles[base]
        return self.op("Add", [self.op("Mul", [x, cosines]), self.op("Mul", [half, sines])])

    def attention(self, layer, x, base, mask):
        parts = [self.matmul(layer + "attn.Wqkv", x, slice(i * WIDTH, (i + 1) * WIDTH)) for i in range(3)]
        if self.fused:
            q, k = (self.rotate(part, base) for part in parts[:2])
            return self.op("MultiHeadAttention", [q, k, parts[2], "", "", mask], domain="com.microsoft", num_heads=HEADS)
        q, k, v = (self.op("Transpose", [self.op("Reshape", [part, self.integers(0, 0, HEADS, SIZE)])], perm=(0, 2, 1, 3))
                   for part in parts)
        q, k = self.rotate(q, base), self.op("Transpose", [self.rotate(k, base)], perm=(0, 1, 3, 2))
        scores = self.op("Add", [self.op("Mul", [self.op("MatMul", [q, k]), self.number(SIZE ** -0.5)]), mask])
        mixed = self.op("MatMul", [self.op("Softmax", [scores], axis=-1), v])
        return self.op("Reshape", [self.op("Transpose", [mixed], perm=(0, 2, 1, 3)), self.integers(0, 0, WIDTH)])

    def feed_forward(self, layer, x):
        inner = MODERN["inner"]
        h, gate = (self.matmul(layer + "mlp.Wi", x, slice(i * inner, (i + 1) * inner)) for i in range(2))
        if self.fused:
            h = self.op("Gelu", [h], domain="com.microsoft")
        else:
            erf = self.op("Add", [self.op("Erf", [self.op("Div", [h, self.number(math.sqrt(2))])]), self.number(1.0)])
            h = self.op("Mul", [self.op("Mul", [h, erf]), self.number(0.5)])
        return self.matmul(layer + "mlp.Wo", self.op("Mul", [h, gate]))

    def masks(self):
        """Returns the additive masks of global layers and of layers with a window, [batch, 1, seq, seq]."""
        self.counted = self.op("Cast", ["mask"], to=TensorProto.FLOAT)
        padding = self.op("Sub", [self.number(1.0), self.op("Unsqueeze", [self.counted, self.integers(1, 2)])])
        index = self.op("Range", [self.constant("zero", numpy.int64(0)), self.op("Squeeze", [self.length]),
                                  self.constant("step", numpy.int64(1))])
        self.positions = self.op("Expand", [self.op("Unsqueeze", [index, self.integers(0)]), self.op("Shape", ["ids"])])
        distance = self.op("Abs", [self.op("Sub", [self.op("Unsqueeze", [index, self.integers(1)]),
                                                   self.op("Unsqueeze", [index, self.integers(0)])])])
        far = self.op("Cast", [self.op("Greater", [distance, self.constant("reach", numpy.int64(MODERN["window"] // 2))])],
                      to=TensorProto.FLOAT)
        square = self.op("Mul", [far, self.number(0.0)])
        lowest = self.number(-3e38)
        return [self.op("Mul", [self.op("Max", [padding, x]), lowest]) for x in (square, far)]

    def build(self):
        self.angles = {}
        self.length = self.op("Slice", [self.op("Shape", ["ids"]), self.integers(1), self.integers(2)])
        masks = self.masks()
        x = self.norm("embeddings.norm", self.op("Gather", [self.weight("embeddings.tok_embeddings"), "ids"], axis=0))
        normed = x
        for i in range(MODERN["layers"]):
            layer, local = f"layers.{i}.", int(i % MODERN["every"] > 0)
            mixed = self.attention(layer, normed, MODERN["bases"][local], masks[local])
            x, normed = self.add_and_norm(layer + "mlp_norm", x, self.matmul(layer + "attn.Wo", mixed))
            after = f"layers.{i + 1}.attn_norm" if i + 1 < MODERN["layers"] else "final_norm"
            x, normed = self.add_and_norm(after, x, self.feed_forward(layer, normed))
        there = self.op("Unsqueeze", [self.counted, self.integers(2)])
        total = self.op("ReduceSum", [self.op("Mul", [normed, there]), self.integers(1)], keepdims=0)
        mean = self.op("Div", [total, self.op("ReduceSum", [there, self.integers(1)], keepdims=0)])
        self.nodes.append(helper.make_node("LpNormalization", [mean], ["vectors"], axis=-1, p=2))
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in ("ids", "mask")]
        outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH])]
        graph = helper.make_graph(self.nodes, "modernbert", inputs, outputs, list(self.constants.values()))
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                     helper.make_opsetid("com.microsoft", 1)])


def write_lines(path, words, lengths):
    rng = random.Random(2)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for length in lengths:
            file.write(" ".join(rng.choice(words) for _ in range(length - 2)) + "\n")  # [CLS] and [SEP] are added


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocab_txt")
    parser.add_argument("out")
    parser.add_argument("--lines", type=int, default=256)
    parser.add_argument("--shortest", type=int, default=8)
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--layers", type=int, default=MODERN["layers"], help="of ModernBERT")
    args = parser.parse_args()
    MODERN["layers"] = args.layers
    with open(args.vocab_txt, encoding="utf-8") as file:
        vocabulary = file.read().split("\n")[:-1]
    os.makedirs(args.out, exist_ok=True)
    tensors = modernbert()
    write_folder(os.path.join(args.out, "modernbert"),
                 {"model_type": "modernbert", "architectures": ["ModernBertModel"], "vocab_size": MODERN["vocab"],
                  "hidden_size": WIDTH, "num_hidden_layers": MODERN["layers"], "num_attention_heads": HEADS,
                  "intermediate_size": MODERN["inner"], "max_position_embeddings": 8192, "norm_eps": 1e-5,
                  "global_rope_theta": MODERN["bases"][0], "local_rope_theta": MODERN["bases"][1],
                  "local_attention": MODERN["window"], "global_attn_every_n_layers": MODERN["every"],
                  "pad_token_id": 0, "bos_token_id": 101, "cls_token_id": 101, "eos_token_id": 102, "sep_token_id": 102},
                 tensors, args.vocab_txt)
    for form in ("plain", "fused"):
        onnx.save(ModernGraph(tensors, form == "fused").build(), os.path.join(args.out, form + ".onnx"))
    write_folder(os.path.join(args.out, "bert"),
                 {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(vocabulary), "hidden_size": WIDTH,
                  "num_hidden_layers": BERT["layers"], "num_attention_heads": HEADS, "intermediate_size": BERT["inner"],
                  "max_position_embeddings": LONGEST, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
                  "pad_token_id": 0}, bert(len(vocabulary)), args.vocab_txt)
    words = [word for word in vocabulary if len(word) > 2 and word.isascii() and word.isalpha() and word.islower()]
    rng = random.Random(1)
    lengths = [round(args.shortest * (args.longest / args.shortest) ** rng.random()) for _ in range(args.lines)]
    write_lines(os.path.join(args.out, "mixed.txt"), words, lengths)
    write_lines(os.path.join(args.out, "long.txt"), words, [args.longest] * max(8, args.lines // 16))


if __name__ == "__main__":
    main()
