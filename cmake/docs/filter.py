#!/usr/bin/env python3
"""Doxygen's input filter: a header with its comments as Doxygen reads them, line by line.

Comments of headers are plain English, without commands. What says that a comment speaks for several declarations (headers.py), that a
`//` behind a declaration is its own, and that the first lines are the file's, is told Doxygen here.
"""

import pathlib
import re
import sys

import headers


def plain(text):
    """Text that Doxygen takes as it is."""
    text = re.sub(r"([\\@<>#%&$\"*_`~|{}])", r"\\\1", text.replace("*/", "* /"))
    return text.replace(r"\*", "*").replace(r"\_", "_").replace(r"\`", "`").replace(r"\{", "{").replace(r"\}", "}")


def filtered(path):
    include = next((i for i, p in headers.all_headers().items() if p == path), str(path))
    lines = path.read_text().split("\n")
    out = list(lines)
    # The first lines.
    last = 0
    while lines[last].startswith("//") and not lines[last].startswith("///"):
        out[last] = "///" + plain(lines[last][2:])
        last += 1
    if last and lines[last].startswith("#pragma once"):
        out[last] = "/// \\file"
    for number in range(last, len(lines)):
        if match := re.match(r"(\s*///)(\s*)(.*)", lines[number]):
            text = plain(match.group(3))
            # An indented line stands alone: a formula, an example.
            out[number] = match.group(1) + match.group(2) + text + (" \\n" if len(match.group(2)) > 1 else "")
    behind = headers._comments(lines)[1]
    for d in headers.declarations(include, path):
        first = d.line - 1
        if d.comment and not d.comment_above:
            indent = re.match(r"\s*", lines[first]).group(0)
            out[first] = f"{indent}/** {plain(' '.join(d.comment.split()))} */ {lines[first].strip()}"
        elif first + 1 in behind and d.kind == "variable" and not lines[first - 1].strip().startswith("///"):
            at = lines[first].rindex("//")
            out[first] = f"{lines[first][:at]}///< {plain(lines[first][at + 2:].strip())}"
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(filtered(pathlib.Path(sys.argv[1]).resolve()))
