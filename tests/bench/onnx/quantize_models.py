#!/usr/bin/env python3
"""Quantises the networks of export_models.py to int8 in the way of ONNX Runtime's quantiser.

usage: quantize_models.py OUT NAME-dynamic|NAME-qdq...

OUT contains NAME.onnx and receives the result.
dynamic: matrices become i8 with one scale per column, and their products DynamicQuantizeLinear, MatMulInteger, Cast and Mul.
qdq: inputs and outputs of products and convolutions, and of the sums and pooling of residual networks, pass through QuantizeLinear
and DequantizeLinear; weights are i8 with one scale per output, biases i32. Scales of activations are fixed, not calibrated: the
weights are random, and only the speed is of interest. Needs numpy and python3-onnx.
"""
import os
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

STEP = {"resnet-50": numpy.float32(0.05), "bert-base": numpy.float32(0.04)}


class Quantizer:
    def __init__(self, model, step):
        self.graph, self.step, self.nodes = model.graph, step, []
        self.arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.added, self.rounded, self.extra = {}, {}, 0

    def constant(self, name, array):
        self.added[name] = numpy_helper.from_array(numpy.asarray(array), name)
        return name

    def weight(self, name, axis):
        """Adds the levels of a weight and returns their name and the scales."""
        w = self.arrays[name]
        others = tuple(i for i in range(w.ndim) if i != axis)
        scale = (numpy.abs(w).max(axis=others) / 127).astype(numpy.float32)
        scale[scale == 0] = 1
        shape = [-1 if i == axis else 1 for i in range(w.ndim)]
        levels = numpy.clip(numpy.rint(w / scale.reshape(shape)), -127, 127).astype(numpy.int8)
        return self.constant(f"{name}_quantized", levels), scale

    def add(self, kind, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"q{len(self.nodes)}", **attributes))
        return outputs[0]

    def dynamic(self, node):
        """MatMul with a constant matrix."""
        x, w = node.input
        levels, scale = self.weight(w, 1)
        if x not in self.rounded:
            self.rounded[x] = [f"{x}_{part}" for part in ("levels", "scale", "zero")]
            self.add("DynamicQuantizeLinear", [x], self.rounded[x])
        q, x_scale, zero = self.rounded[x]
        w_zero = self.constant(f"{w}_zero_point", numpy.zeros(len(scale), numpy.int8))
        out = node.output[0]
        scales = self.add("Mul", [x_scale, self.constant(f"{w}_scale", scale)], [f"{out}_scales"])
        sums = self.add("MatMulInteger", [q, levels, zero, w_zero], [f"{out}_sums"])
        self.add("Mul", [self.add("Cast", [sums], [f"{out}_cast"], to=1), scales], [out])

    def pair(self, x, zero=128):
        """Returns x after QuantizeLinear and DequantizeLinear."""
        if x not in self.rounded:
            parts = [self.constant(f"{x}_scale", self.step), self.constant(f"{x}_zero_point", numpy.uint8(zero))]
            q = self.add("QuantizeLinear", [x, *parts], [f"{x}_QuantizeLinear"])
            self.rounded[x] = self.add("DequantizeLinear", [q, *parts], [f"{x}_DequantizeLinear"])
        return self.rounded[x]

    def pair_weight(self, name, axis):
        if name not in self.rounded:
            levels, scale = self.weight(name, axis)
            parts = [self.constant(f"{name}_scale", scale), self.constant(f"{name}_zero_point", numpy.zeros(len(scale), numpy.int8))]
            self.rounded[name] = self.add("DequantizeLinear", [levels, *parts], [f"{name}_DequantizeLinear"], axis=axis)
        return self.rounded[name]

    def pair_bias(self, name, weight):
        if name not in self.rounded:
            scale = numpy_helper.to_array(self.added[f"{weight}_scale"]) * self.step
            levels = numpy.rint(self.arrays[name] / scale).astype(numpy.int32)
            parts = [self.constant(f"{name}_quantized", levels), self.constant(f"{name}_quantized_scale", scale),
                     self.constant(f"{name}_quantized_zero_point", numpy.zeros(len(scale), numpy.int32))]
            self.rounded[name] = self.add("DequantizeLinear", parts, [f"{name}_DequantizeLinear"], axis=0)
        return self.rounded[name]


def quantize(source, kind, step):
    model = onnx.load(source)
    names = {t.name: t.name for t in model.graph.initializer}
    for node in [n for n in model.graph.node if n.op_type == "Identity" and n.input[0] in names]:
        names[node.output[0]] = names[node.input[0]]  # the exporter shares equal initialisers
        model.graph.node.remove(node)
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
    q = Quantizer(model, step)
    uses = {}
    for node in model.graph.node:
        for name in node.input:
            uses.setdefault(name, []).append(node)
    before_relu = {name for name, readers in uses.items() if [r.op_type for r in readers] == ["Relu"]}
    weights = set(q.arrays)
    is_image = kind == "qdq" and any(n.op_type == "Conv" for n in model.graph.node)
    replaced = {}  # outputs, and the rounded values that other nodes read instead
    for node in model.graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        is_product = node.op_type == "MatMul" and node.input[1] in weights
        if kind == "dynamic":
            q.dynamic(node) if is_product else q.nodes.append(node)
            continue
        rounds = False
        if is_product:
            node.input[0], node.input[1] = q.pair(node.input[0]), q.pair_weight(node.input[1], 1)
            rounds = True
        elif node.op_type in ("Conv", "Gemm"):
            w = node.input[1]
            node.input[0] = q.pair(node.input[0], 128)
            node.input[1] = q.pair_weight(w, 0)
            if len(node.input) > 2:
                node.input[2] = q.pair_bias(node.input[2], w)
            rounds = node.output[0] not in before_relu
        elif is_image and node.op_type == "Add":
            node.input[0], node.input[1] = q.pair(node.input[0]), q.pair(node.input[1])
            rounds = node.output[0] not in before_relu
        elif is_image and node.op_type in ("MaxPool", "GlobalAveragePool"):
            node.input[0] = q.pair(node.input[0])
            rounds = True
        elif is_image and node.op_type == "Relu":
            rounds = True
        elif is_image and node.op_type == "Flatten":
            node.input[0] = q.pair(node.input[0])
        q.nodes.append(node)
        if not rounds:
            continue
        out = node.output[0]
        if out in {o.name for o in model.graph.output}:
            continue
        replaced[out] = q.pair(out, 0 if node.op_type == "Relu" else 128)
    if kind == "qdq":  # every other reader of a rounded value reads the rounded value
        for node in q.nodes:
            if node.op_type == "QuantizeLinear":
                continue
            for i, name in enumerate(node.input):
                if name in replaced:
                    node.input[i] = replaced[name]
    del model.graph.node[:]
    model.graph.node.extend(q.nodes)
    used = {name for node in q.nodes for name in node.input}
    kept = [t for t in model.graph.initializer if t.name in used] + list(q.added.values())
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model


if __name__ == "__main__":
    for target in sys.argv[2:]:
        name, kind = target.rsplit("-", 1)
        result = quantize(os.path.join(sys.argv[1], f"{name}.onnx"), kind, STEP.get(name, numpy.float32(0.05)))
        onnx.save(result, os.path.join(sys.argv[1], f"{target}.onnx"))
        print(target)
