#!/usr/bin/env python3
"""Checks the comments of all headers that users include (./run check docs): every function, class and enum has one, and Doxygen makes
pages of them (build/docs/html) without a warning.

  cmake/docs/check.py [--comments]      with --comments without Doxygen
"""

import re
import subprocess
import sys

import headers


def needs_comment(d, first_class):
    """Whether a name must be explained, where no comment speaks for it."""
    if d.given or d.kind in ("variable", "alias"):
        return False
    if d.kind == "class":
        # The first lines of a file speak for what it is about; options are explained by who takes them.
        return not first_class and not d.name.endswith("Options") and "<" not in d.name
    if d.kind == "function":
        if "override" in d.text or d.name.startswith("operator") or d.name in ("begin", "end", "size", "describe", "choice_names"):
            return False
        if d.scope and (d.name == d.scope.split("::")[-1].split("<")[0] or re.search(r"\(\s*\)\s*const", d.text)):
            return False  # constructors, and what an object is asked for by name
        if re.search(r"\w+(<\w+>)?::" + re.escape(d.name) + r"\s*\(", d.text):
            return False  # the body of what a class declares
        if re.match(r"add_\w+_(ops|rules|decompositions)$", d.name):
            return False  # the lists of what is built in
    return True


def uncommented():
    found = []
    for include, path in headers.public_headers().items():
        classes = 0
        for d in headers.declarations(include, path):
            classes += d.kind == "class"
            if not d.comment and needs_comment(d, d.kind == "class" and classes == 1):
                found.append(f"{path.relative_to(headers.ROOT)}:{d.line}: {d.path} has no comment: {d.text[:70]}")
    return found


def doxygen():
    inputs = sorted(str(p.relative_to(headers.ROOT)) for p in headers.public_headers().values())
    (headers.ROOT / "build/docs").mkdir(parents=True, exist_ok=True)
    settings = (headers.ROOT / "cmake/docs/Doxyfile").read_text() + "\nINPUT = " + " ".join(inputs) + "\n"
    result = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, cwd=headers.ROOT)
    return [line for line in result.stderr.split("\n") if line.strip()]


def main():
    wrong = uncommented() + ([] if "--comments" in sys.argv else doxygen())
    print("\n".join(wrong) if wrong else "docs: no findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
