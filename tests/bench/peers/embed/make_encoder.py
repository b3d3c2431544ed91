#!/usr/bin/env python3
"""Writes an encoder of the size of MiniLM or BERT-base with random weights: a Hugging Face folder for Weft, and ONNX models for its
peer.

usage: make_encoder.py VOCAB_TXT OUT [minilm|bert-base]

OUT receives the folder `encoder` (a BertModel with 6 layers of width 384, 12 heads and feed-forward width 1536, or with 12 layers
of width 768, 12 heads and feed-forward width 3072, and the WordPiece vocabulary of BERT) and four ONNX models with the same weights. Their inputs are `ids` and `mask`, int64 [batch, seq]; the output
`vectors` [batch, width] is the mean over the tokens of a row, normalised to length 1.
 plain.onnx: the ops that torch.onnx.export writes for a BERT (opset 17)
 fused.onnx: the ops that ONNX Runtime's own optimizer for transformers writes (Attention, SkipLayerNormalization, BiasGelu)
 int8_plain.onnx, int8_fused.onnx: ONNX Runtime's dynamic quantisation of both: int8 weights with a scale per output, products
   MatMulInteger and QAttention of bytes with a scale and zero point per tensor (DynamicQuantizeLinear)
"""
import array
import json
import os
import random
import shutil
import struct
import sys

SHAPES = {"minilm": (384, 6, 12, 1536), "bert-base": (768, 12, 12, 3072)}
WIDTH, LAYERS, HEADS, INNER = SHAPES["minilm"]
POSITIONS = 512
FLOAT, INT64, INT32, INT8 = 1, 7, 6, 3


def tensors(vocab):
    """Returns a dictionary from the tensor names of a BertModel to (sizes, floats)."""
    rng = random.Random(1)

    def uniform(*sizes, about=0.0, by=0.07):
        count = 1
        for size in sizes:
            count *= size
        drawn = array.array("H", rng.randbytes(2 * count))
        scale = 2 * by / 65535
        return sizes, array.array("f", [about - by + scale * x for x in drawn])

    result = {"embeddings.word_embeddings.weight": uniform(vocab, WIDTH),
              "embeddings.position_embeddings.weight": uniform(POSITIONS, WIDTH),
              "embeddings.token_type_embeddings.weight": uniform(2, WIDTH)}

    def norm(name):
        result[name + ".weight"] = uniform(WIDTH, about=1.0)
        result[name + ".bias"] = uniform(WIDTH)

    def linear(name, out, inside):
        result[name + ".weight"] = uniform(out, inside)
        result[name + ".bias"] = uniform(out)

    norm("embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for part in ("query", "key", "value"):
            linear(layer + "attention.self." + part, WIDTH, WIDTH)
        linear(layer + "attention.output.dense", WIDTH, WIDTH)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", INNER, WIDTH)
        linear(layer + "output.dense", WIDTH, INNER)
        norm(layer + "output.LayerNorm")
    linear("pooler.dense", WIDTH, WIDTH)
    return result


def write_folder(path, weights, vocab_txt, vocab):
    os.makedirs(path, exist_ok=True)
    shutil.copyfile(vocab_txt, os.path.join(path, "vocab.txt"))
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": vocab, "hidden_size": WIDTH,
                   "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
                   "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "hidden_act": "gelu",
                   "layer_norm_eps": 1e-12, "pad_token_id": 0}, file, indent=1)
    header, at = {}, 0
    for name, (sizes, values) in weights.items():
        header[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(path, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, values in weights.values():
            file.write(values.tobytes())


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """Encodes a field of a protobuf message: an integer, a float, a string or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


class OnnxGraph:
    """Collects the encoded nodes and constants of a GraphProto."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, name, kind, sizes, data):
        self.constants.append(b"".join(field(1, s) for s in sizes) + field(2, kind) + field(8, name) + field(9, data))
        return name

    def floats(self, name, sizes, values):
        return self.constant(name, FLOAT, sizes, array.array("f", values).tobytes())

    def int64s(self, name, values):
        return self.constant(name, INT64, (len(values),), array.array("q", values).tobytes())

    def op(self, kind, inputs, domain="", outputs=1, **attributes):
        self.count += 1
        out = f"v{self.count}"
        names = [out] + [f"{out}_{i}" for i in range(1, outputs)]
        node = b"".join(field(1, i) for i in inputs) + b"".join(field(2, n) for n in names) + field(3, f"{kind}_{self.count}") + field(4, kind)
        for name, value in attributes.items():
            message = field(1, name)
            if isinstance(value, float):
                message += field(2, value) + field(20, 1)
            elif isinstance(value, int):
                message += field(3, value) + field(20, 2)
            else:
                message += b"".join(field(8, v) for v in value) + field(20, 7)
            node += field(5, message)
        self.nodes.append(node + (field(7, domain) if domain else b""))
        return out if outputs == 1 else names

    def model(self, output):
        def value(name, kind, dims):
            shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
            return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))

        graph = b"".join(field(1, n) for n in self.nodes) + field(2, "encoder")
        graph += b"".join(field(5, c) for c in self.constants)
        graph += b"".join(field(11, value(name, INT64, ("batch", "seq"))) for name in ("ids", "mask"))
        graph += field(12, value(output, FLOAT, ("batch", WIDTH)))
        opsets = [field(8, field(1, "") + field(2, 17)), field(8, field(1, "com.microsoft") + field(2, 1))]
        return field(1, 8) + field(2, "weft-bench") + field(7, graph) + b"".join(opsets)


def transposed(weight):
    (rows, columns), values = weight
    out = array.array("f")
    for c in range(columns):
        out.extend(values[c::columns])
    return (columns, rows), out


class EncoderGraph:
    def __init__(self, weights, fused, int8):
        self.g, self.weights, self.fused, self.int8 = OnnxGraph(), weights, fused, int8
        self.read = {}  # bytes, scale and zero point of quantised inputs
        g = self.g
        self.epsilon = 1e-12
        if not fused:
            self.heads = g.int64s("heads", [0, 0, HEADS, WIDTH // HEADS])
            self.joined = g.int64s("joined", [0, 0, WIDTH])
            self.root, self.root2, self.one, self.half = (
                g.floats(name, (), [value])
                for name, value in (("root", (WIDTH // HEADS) ** 0.5), ("root2", 2 ** 0.5), ("one", 1.0), ("half", 0.5)))

    def weight(self, name):
        return self.g.floats(name, *self.weights[name])

    def matrix(self, name):
        return self.g.floats(name, *transposed(self.weights[name]))

    def levels(self, x):
        """Returns the bytes, the scale and the zero point of x."""
        if x not in self.read:
            self.read[x] = self.g.op("DynamicQuantizeLinear", [x], outputs=3)
        return self.read[x]

    def quantised(self, name, rows, columns, values):
        """Adds a matrix as int8 with one scale per column, and returns the names of both and of its zero points."""
        scales = [max(abs(v) for v in values[c::columns]) / 127 for c in range(columns)]
        levels = array.array("b", [round(v / scales[i % columns]) for i, v in enumerate(values)])
        g = self.g
        return (g.constant(name + ".levels", INT8, (rows, columns), levels.tobytes()),
                g.floats(name + ".scales", (columns,), scales),
                g.constant(name + ".zeros", INT8, (columns,), bytes(columns)))

    def product(self, name, x):
        """Returns x times a weight."""
        g = self.g
        if not self.int8:
            return g.op("MatMul", [x, self.matrix(name)])
        (rows, columns), values = transposed(self.weights[name])
        weight, scales, zeros = self.quantised(name, rows, columns, values)
        levels, step, zero = self.levels(x)
        total = g.op("Cast", [g.op("MatMulInteger", [levels, weight, zero, zeros])], to=FLOAT)
        return g.op("Mul", [total, g.op("Mul", [step, scales])])

    def linear(self, name, x):
        return self.g.op("Add", [self.product(name + ".weight", x), self.weight(name + ".bias")])

    def norm(self, name, x):
        return self.g.op("LayerNormalization", [x, self.weight(name + ".weight"), self.weight(name + ".bias")], axis=-1,
                         epsilon=self.epsilon)

    def attention(self, layer, x):
        g, name = self.g, layer + "attention.self."
        if self.fused:
            parts = [transposed(self.weights[f"{name}{p}.weight"])[1] for p in ("query", "key", "value")]
            packed = array.array("f")
            for r in range(WIDTH):
                for part in parts:
                    packed.extend(part[r * WIDTH:(r + 1) * WIDTH])
            bias = [v for p in ("query", "key", "value") for v in self.weights[f"{name}{p}.bias"][1]]
            bias = g.floats(name + "bias", (3 * WIDTH,), bias)
            if self.int8:
                weight, scales, zeros = self.quantised(name + "packed", WIDTH, 3 * WIDTH, packed)
                levels, step, zero = self.levels(x)
                return g.op("QAttention", [levels, weight, bias, step, scales, self.mask, zero, zeros], "com.microsoft",
                            num_heads=HEADS)
            return g.op("Attention", [x, g.floats(name + "packed", (WIDTH, 3 * WIDTH), packed), bias, self.mask],
                        "com.microsoft", num_heads=HEADS)
        q, k, v = (g.op("Transpose", [g.op("Reshape", [self.linear(name + p, x), self.heads])], perm=perm)
                   for p, perm in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))))
        scores = g.op("Add", [g.op("Div", [g.op("MatMul", [q, k]), self.root]), self.mask])
        mixed = g.op("MatMul", [g.op("Softmax", [scores], axis=-1), v])
        return g.op("Reshape", [g.op("Transpose", [mixed], perm=(0, 2, 1, 3)), self.joined])

    def block(self, x, layer, name, dense):
        """Applies the output projection to `dense`, adds x and normalises the sum."""
        g = self.g
        if not self.fused:
            return self.norm(layer + name + ".LayerNorm", g.op("Add", [self.linear(layer + name + ".dense", dense), x]))
        product = self.product(layer + name + ".dense.weight", dense)
        return g.op("SkipLayerNormalization",
                    [product, x] + [self.weight(layer + name + p) for p in (".LayerNorm.weight", ".LayerNorm.bias", ".dense.bias")],
                    "com.microsoft", epsilon=self.epsilon)

    def feed_forward(self, layer, x):
        g, name = self.g, layer + "intermediate.dense"
        if self.fused:
            return g.op("BiasGelu", [self.product(name + ".weight", x), self.weight(name + ".bias")], "com.microsoft")
        h = self.linear(name, x)
        erf = g.op("Add", [g.op("Erf", [g.op("Div", [h, self.root2])]), self.one])
        return g.op("Mul", [g.op("Mul", [h, erf]), self.half])

    def pool(self, x):
        g = self.g
        there = g.op("Unsqueeze", [self.counted, g.int64s("last", [-1])])
        total = g.op("ReduceSum", [g.op("Mul", [x, there]), g.int64s("tokens", [1])], keepdims=0)
        mean = g.op("Div", [total, g.op("ReduceSum", [there, "tokens"], keepdims=0)])
        return g.op("LpNormalization", [mean], axis=-1, p=2)

    def build(self):
        g = self.g
        shape = g.op("Gather", [g.op("Shape", ["ids"]), g.constant("second", INT64, (), struct.pack("<q", 1))], axis=0)
        zero, step = (g.constant(n, INT64, (), struct.pack("<q", v)) for n, v in (("zero", 0), ("step", 1)))
        positions = g.op("Gather", [self.weight("embeddings.position_embeddings.weight"), g.op("Range", [zero, shape, step])], axis=0)
        words = g.op("Gather", [self.weight("embeddings.word_embeddings.weight"), "ids"], axis=0)
        types = g.floats("types", (WIDTH,), self.weights["embeddings.token_type_embeddings.weight"][1][:WIDTH])
        x = self.norm("embeddings.LayerNorm", g.op("Add", [g.op("Add", [words, types]), positions]))
        self.counted = g.op("Cast", ["mask"], to=FLOAT)
        if self.fused:
            self.mask = g.op("Cast", ["mask"], to=INT32)
        else:
            hidden = g.op("Sub", [self.one, g.op("Unsqueeze", [self.counted, g.int64s("middle", [1, 2])])])
            self.mask = g.op("Mul", [hidden, g.floats("lowest", (), [-3.4e38])])
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}."
            x = self.block(x, layer, "attention.output", self.attention(layer, x))
            x = self.block(x, layer, "output", self.feed_forward(layer, x))
        vectors = self.pool(x)
        # Renames the result to the name of the output.
        g.nodes.append(field(1, vectors) + field(2, "vectors") + field(3, "out") + field(4, "Identity"))
        return g.model("vectors")


def main():
    global WIDTH, LAYERS, HEADS, INNER
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    vocab_txt, out = sys.argv[1:3]
    WIDTH, LAYERS, HEADS, INNER = SHAPES[sys.argv[3] if len(sys.argv) > 3 else "minilm"]
    with open(vocab_txt, encoding="utf-8") as file:
        vocab = len(file.read().split("\n")) - 1
    weights = tensors(vocab)
    write_folder(os.path.join(out, "encoder"), weights, vocab_txt, vocab)
    for form in ("plain", "fused", "int8_plain", "int8_fused"):
        with open(os.path.join(out, form + ".onnx"), "wb") as file:
            file.write(EncoderGraph(weights, form.endswith("fused"), form.startswith("int8")).build())


if __name__ == "__main__":
    main()
