#!/usr/bin/env python3
"""Writes BERT-base and ViT-B/16 with random weights as ONNX graphs, in float32 and with ONNX Runtime's dynamic quantisation.

usage: make_models.py OUT

OUT receives bert-base.f32.onnx, bert-base.int8.onnx, vit-b16.f32.onnx and vit-b16.int8.onnx. In the int8 graphs, every product with
a weight matrix is DynamicQuantizeLinear (one scale and zero point per tensor), MatMulInteger with u8 x s8 operands, and a product
with the two scales, the pattern for which ONNX Runtime has fused kernels; weights have one scale per output. The input `x` is int64
[batch, seq] (BERT) or float [batch, 3, 224, 224] (ViT); the output is the last hidden state. Needs numpy and python3-onnx.
"""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, INNER, LAYERS = 768, 12, 3072, 12
SIZE = WIDTH // HEADS
MODELS = {"bert-base": {"positions": 128, "eps": 1e-12}, "vit-b16": {"positions": 197, "eps": 1e-12}}


class Builder:
    """Builds the ONNX graph of an encoder."""

    def __init__(self, int8):
        self.int8, self.nodes, self.constants, self.random = int8, [], {}, numpy.random.default_rng(1)

    def constant(self, name, value):
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        return name

    def op(self, kind, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def integers(self, *values):
        return self.constant("int_" + "_".join(map(str, values)), numpy.array(values, numpy.int64))

    def number(self, value):
        return self.constant(f"number_{value}", numpy.float32(value))

    def uniform(self, name, *sizes):
        return self.constant(name, self.random.uniform(-0.05, 0.05, sizes).astype(numpy.float32))

    def quantised(self, x):
        """Returns the bytes, scale and zero point of x."""
        return self.op("DynamicQuantizeLinear", [x], 3)

    def linear(self, name, x, out, inside, bytes_of_x=None):
        bias = self.uniform(name + ".bias", out)
        w = self.random.uniform(-0.05, 0.05, (inside, out)).astype(numpy.float32)
        if not self.int8:
            return self.op("Add", [self.op("MatMul", [x, self.constant(name, w)]), bias])
        scale = numpy.abs(w).max(axis=0) / 127
        q = numpy.clip(numpy.rint(w / scale), -127, 127).astype(numpy.int8)
        levels, step, zero = bytes_of_x or self.quantised(x)
        total = self.op("MatMulInteger", [levels, self.constant(name + ".q", q), zero,
                                          self.constant(name + ".zero", numpy.zeros(out, numpy.int8))])
        factor = self.op("Mul", [step, self.constant(name + ".scale", scale.astype(numpy.float32))])
        return self.op("Add", [self.op("Mul", [self.op("Cast", [total], to=TensorProto.FLOAT), factor]), bias])

    def norm(self, name, x, eps):
        return self.op("LayerNormalization", [x, self.constant(name + ".gain", numpy.ones(WIDTH, numpy.float32)),
                                              self.uniform(name + ".bias", WIDTH)], axis=-1, epsilon=eps)

    def heads(self, x, order):
        return self.op("Transpose", [self.op("Reshape", [x, self.integers(0, 0, HEADS, SIZE)])], perm=order)

    def attention(self, layer, x):
        shared = self.quantised(x) if self.int8 else None
        q, k, v = (self.linear(f"{layer}.{name}", x, WIDTH, WIDTH, shared) for name in ("query", "key", "value"))
        scores = self.op("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        weights = self.op("Softmax", [self.op("Div", [scores, self.number(SIZE ** 0.5)])], axis=-1)
        joined = self.op("Transpose", [self.op("MatMul", [weights, self.heads(v, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
        return self.linear(layer + ".out", self.op("Reshape", [joined, self.integers(0, 0, WIDTH)]), WIDTH, WIDTH)

    def gelu(self, x):
        inner = self.op("Add", [self.op("Erf", [self.op("Div", [x, self.number(2 ** 0.5)])]), self.number(1.0)])
        return self.op("Mul", [self.op("Mul", [x, inner]), self.number(0.5)])

    def feed_forward(self, layer, x):
        return self.linear(layer + ".down", self.gelu(self.linear(layer + ".up", x, INNER, WIDTH)), WIDTH, INNER)

    def bert(self, x, eps):
        words = self.op("Gather", [self.uniform("words", 30522, WIDTH), x])
        h = self.norm("embedding", self.op("Add", [words, self.uniform("positions", 128, WIDTH)]), eps)
        for i in range(LAYERS):
            h = self.norm(f"{i}.norm1", self.op("Add", [h, self.attention(str(i), h)]), eps)
            h = self.norm(f"{i}.norm2", self.op("Add", [h, self.feed_forward(str(i), h)]), eps)
        return h

    def vit(self, x, eps):
        patches = self.op("Conv", [x, self.uniform("patch", WIDTH, 3, 16, 16), self.uniform("patch.bias", WIDTH)],
                          kernel_shape=[16, 16], strides=[16, 16])
        h = self.op("Transpose", [self.op("Reshape", [patches, self.integers(0, WIDTH, 196)])], perm=[0, 2, 1])
        cls = self.op("Expand", [self.uniform("class", 1, 1, WIDTH), self.integers(8, 1, WIDTH)])
        h = self.op("Add", [self.op("Concat", [cls, h], axis=1), self.uniform("positions", 197, WIDTH)])
        for i in range(LAYERS):
            h = self.op("Add", [h, self.attention(str(i), self.norm(f"{i}.norm1", h, eps))])
            h = self.op("Add", [h, self.feed_forward(str(i), self.norm(f"{i}.norm2", h, eps))])
        return self.norm("last", h, eps)


def write(path, name, int8):
    b = Builder(int8)
    if name == "bert-base":
        x = helper.make_tensor_value_info("x", TensorProto.INT64, [8, 128])
        h = b.bert("x", MODELS[name]["eps"])
    else:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 3, 224, 224])
        h = b.vit("x", MODELS[name]["eps"])
    out = helper.make_tensor_value_info(h, TensorProto.FLOAT, [8, MODELS[name]["positions"], WIDTH])
    graph = helper.make_graph(b.nodes, name, [x], [out], list(b.constants.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in MODELS:
        for form in ("f32", "int8"):
            write(os.path.join(sys.argv[1], f"{name}.{form}.onnx"), name, form == "int8")


if __name__ == "__main__":
    main()
