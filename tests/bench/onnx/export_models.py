#!/usr/bin/env python3
"""Exports BERT-base and a ResNet-50-shaped network with random weights with torch.onnx.export, as PyTorch users do.

usage: export_models.py OUT [bert-base|resnet-50|bert-tiny]...

OUT receives NAME.onnx. Sizes of the batch and of the text are symbolic. The graphs are those of the exporter: LayerNorm, GELU and
attention of BERT-base are written as elementary operations (opset 14), and BatchNorm is folded into the convolutions of ResNet-50.
bert-tiny has 2 layers of width 8. Needs PyTorch (Debian's python3-torch).
"""
import math
import os
import sys

import torch
from torch import nn


class Attention(nn.Module):
    """As in the library transformers, with an additive mask."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size) + mask
        out = torch.matmul(nn.functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return out.view(out.size(0), out.size(1), self.heads * self.size)


class Layer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention, self.output = Attention(width, heads), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        x = self.norm1(self.output(self.attention(x, mask)) + x)
        return self.norm2(self.down(nn.functional.gelu(self.up(x))) + x)


class Bert(nn.Module):
    def __init__(self, vocabulary=30522, width=768, heads=12, layers=12):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(512, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids, attention_mask, types):
        positions = torch.arange(ids.size(1)).unsqueeze(0)
        x = self.norm(self.words(ids) + self.positions(positions) + self.types(types))
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.shortcut = nn.Sequential() if inside == 4 * width and stride == 1 else nn.Sequential(
            nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks, inside = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(inside, width, stride if i == 0 else 1))
                inside = 4 * width
        self.blocks, self.pool, self.head = nn.Sequential(*blocks), nn.AdaptiveAvgPool2d(1), nn.Linear(inside, 1000)

    def forward(self, pixels):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(pixels))), 1))


def export(out, name):
    torch.manual_seed(1)
    if name == "resnet-50":
        model, inputs, names, outputs = ResNet(), (torch.randn(2, 3, 224, 224),), ["pixels"], ["logits"]
        axes = {"pixels": {0: "batch"}, "logits": {0: "batch"}}
    else:
        model = Bert(100, 8, 2, 2) if name == "bert-tiny" else Bert()
        ids = torch.randint(0, 100, (2, 16))
        inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
        names, outputs = ["input_ids", "attention_mask", "token_type_ids"], ["last_hidden_state", "pooled"]
        axes = {n: {0: "batch", 1: "seq"} for n in names + outputs[:1]} | {"pooled": {0: "batch"}}
    path = os.path.join(out, f"{name}.onnx")
    torch.onnx.export(model.eval(), inputs, path, input_names=names, output_names=outputs, dynamic_axes=axes, opset_version=14)
    print(path)


if __name__ == "__main__":
    for model in sys.argv[2:] or ["bert-base", "resnet-50"]:
        export(sys.argv[1], model)
