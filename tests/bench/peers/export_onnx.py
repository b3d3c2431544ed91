"""Writes the models of torch_peer.py as ONNX files for ort_peer.js.

usage: export_onnx.py FOLDER [MODEL ...]     (default: gpt2 bert-base vit-b16)
"""
import os
import sys

import torch

from torch_peer import make_model

SIZES = {"gpt2": (4, 256), "bert-base": (8, 128), "vit-b16": (8, 0)}


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or SIZES:
        batch, seq = SIZES[name]
        model, x = make_model(name, batch, seq, fused=False)
        torch.onnx.export(model.eval(), x, os.path.join(sys.argv[1], f"{name}.onnx"),
                          opset_version=14, input_names=["x"], output_names=["y"])
        print(f"wrote {name}.onnx for {tuple(x.shape)}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
