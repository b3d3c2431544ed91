"""Checks the structure of ONNX files with the checker of the package python3-onnx.

  python3 check_models.py FOLDER

The checker of onnx 1.12 knows opsets up to 17.
"""
import pathlib
import sys

try:
    import onnx
except ImportError:
    print("skipped: the Python package onnx is not installed")
    sys.exit(77)

failed = 0
paths = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
for path in paths:
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:  # the package raises several unrelated classes
        print(f"FAIL {path.stem} {' '.join(str(error).split())}")
        failed += 1
print(f"{len(paths) - failed} models are valid, {failed} are not")
sys.exit(1 if failed or not paths else 0)
