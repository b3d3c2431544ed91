#!/usr/bin/env python3
"""The API reference: Doxygen pages of the public headers, build/docs/html/index.html (`./run docs`).

  cmake/docs/reference.py       writes the pages; prints Doxygen's warnings and fails if there are any

Doxygen does not read the headers themselves, but copies below build/docs/include/weft/, which have the paths that programs include.
The comments of Weft's headers are plain English without Doxygen commands. The copies add the commands: they escape special characters,
repeat a comment for every declaration that it applies to (headers.py), and turn indented lines into verbatim blocks.

Every promised header is a Doxygen group, whose page starts with the #include line. The parts of the header are groups within that group,
and the headers of an area are the groups within the area. The main page lists the classes and functions of all areas.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import headers

OUT = headers.ROOT / "build/docs"
SOURCES = OUT / "include"  # the copies
HTML = OUT / "html"


def escaped(text):
    """Text for Doxygen: special characters are escaped, and text in back quotes becomes code."""
    text = re.sub(r"([\\@<>#%&$\"~|])", r"\\\1", text.replace("*/", "* /"))
    text = text.replace("--", r"\--").replace("et al. ", r"et al.\ ")  # otherwise the brief description ends there
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def documentation(comment):
    """A comment as lines of Doxygen; indented lines become verbatim blocks."""
    out, block = [], []
    for line in comment.split("\n") + [""]:
        if line.startswith("  ") or (block and not line.strip()):
            block.append(line.replace("*/", "* /"))
        else:
            out += verbatim(block) + [escaped(line)]
            block = []
    return out + verbatim(block)


def verbatim(block):
    """Lines that Doxygen copies unchanged."""
    text = "\n".join(block).rstrip()
    return ["\\verbatim", *textwrap.dedent(text).split("\n"), "\\endverbatim", ""] if text else [""] * len(block)


def group_of(include):
    """The name of a header's group."""
    return re.sub(r"\W", "_", include)


def area_group(area):
    """The name of an area's group."""
    return "area_" + re.sub(r"\W", "_", area.lower())


def include_line(include):
    return f'#include "{headers.umbrellas()[include]}"'


def target(include):
    """The CMake target that a header belongs to."""
    inner = include.removeprefix("weft/")
    return "weft::mpi" if inner.startswith("core/mpi/") else f"weft::{inner.split('/')[0].removesuffix('.h')}"


class Copy:
    """A header for Doxygen: lines, each with the number of the line of the header that it stands for."""

    def __init__(self, include):
        self.path = headers.path_of(include)
        self.lines, self.numbers = [], []
        self.write(include, self.path.read_text().split("\n"))

    def add(self, number, *lines):
        self.lines += lines
        self.numbers += [number] * len(lines)

    def add_comment(self, number, comment, *more):
        self.add(number, "/**", *documentation(comment), *more, "*/")

    def write(self, include, lines):
        umbrella = headers.umbrellas()[include]
        header_file = f'\\headerfile {pathlib.PurePath(umbrella).name} "{umbrella}"'
        declarations = {d.line: d for d in headers.declarations(include, self.path)}
        comments = headers.line_comments(lines)[1]
        number, depth = 1, 0
        while number <= len(lines) and lines[number - 1].startswith("//") and not lines[number - 1].startswith("///"):
            number += 1
        part = "" if include == umbrella else f'This header is a part of \\ref {group_of(umbrella)} "{umbrella}": include that header.'
        self.add(1, "/** \\file", *documentation(headers.leading_comment(include)), "", part, "*/")
        while number <= len(lines):
            line = lines[number - 1]
            if line.strip().startswith("///"):
                first = number
                while lines[number].strip().startswith("///"):
                    number += 1
                number += 1
                block = [text.strip()[3:].removeprefix(" ") for text in lines[first - 1:number - 1]]
                d = declarations.get(number)
                self.add_comment(first, "\n".join(block), *([header_file] if d and d.kind == "class" else []))
                continue
            d = declarations.get(number)
            if d and d.kind == "class" and not d.comment_above:
                self.add_comment(number, "", header_file)
            elif d and d.comment and not d.comment_above and not d.given:
                self.add_comment(number, d.comment)
            elif d and number in comments and d.kind != "class" and not lines[number - 2].strip().startswith("///"):
                at = line.rindex("//")
                line = f"{line[:at]}///< {escaped(line[at + 2:].strip())}"
            elif not d and depth and number in comments and re.match(r"\s*\w+( = [^,;]+)?,?\s*//", line):  # an enumerator
                at = line.rindex("//")
                line = f"{line[:at]}///< {escaped(line[at + 2:].strip())}"
            if re.match(r"\} *// namespace weft\b", line):
                self.add(number, "/// \\}")
                depth -= 1
            self.add(number, line)
            if re.match(r"namespace (WEFT_API )?weft(::\w+)* \{", line):
                self.add(number, f"/// \\addtogroup {group_of(include)}", "/// \\{")
                depth += 1
            number += 1


def write_copies():
    """Writes the copies; returns them by path."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    copies = {}
    for include in headers.public_headers():
        copies[SOURCES / include] = copy = Copy(include)
        (SOURCES / include).parent.mkdir(parents=True, exist_ok=True)
        (SOURCES / include).write_text("\n".join(copy.lines))
    return copies


def part_title(include):
    """The title of a part: the summary up to its colon."""
    return escaped(re.split(r"[:.] ", headers.summary(include))[0])


def other_headers(include):
    """A sentence that lists the promised headers that a promised header includes, if it declares nothing itself."""
    if headers.declarations(include, headers.path_of(include)):
        return []
    parts = [i for i, umbrella in headers.umbrellas().items() if umbrella == include]
    others = [i for i in headers.includes(headers.path_of(include)) if headers.umbrellas().get(i) == i and i not in parts]
    links = ", ".join(f'\\ref {group_of(i)} "{i}"' for i in others)
    return ["", f"Includes {links}."] if others else []


def group_pages():
    """The groups of areas, of promised headers and of their parts."""
    out, areas = [], []
    for header in headers.promised_headers():
        if header.area not in areas:
            areas.append(header.area)
            out.append(f"/** \\defgroup {area_group(header.area)} {header.area} */")
        for include in (header.include, *header.parts):
            parent, title = area_group(header.area), include
            if include != header.include:
                parent, title = group_of(header.include), part_title(include)
            out += [f"/** \\defgroup {group_of(include)} {title}", f"\\ingroup {parent}"]
            comment = headers.leading_comment(include)
            if include == header.include:
                brief, comment = headers.split_first_sentence(comment)
                out.append(f"\\brief {escaped(brief)}.")
            out += ["\\code{.cpp}", f"{include_line(include)}  // CMake: {target(header.include)}", "\\endcode"]
            out += [*documentation(comment), *other_headers(include), "*/"]
    return "\n".join(out)


def listed_names(include):
    """The classes, functions and other names of a header in order, each with its declaration; the first one of overloads."""
    found = {}
    for d in headers.declarations(include, headers.path_of(include)):
        member = re.search(r"\w+(<\w+>)?::" + re.escape(d.name) + r"\s*\(", d.text)  # defined outside of its class
        if not d.scope and d.name and d.kind != "variable" and not d.name.startswith("operator") and "<" not in d.name and not member:
            if d.name not in found or not found[d.name].comment:
                found[d.name] = d
    return list(found.values())


def names_table(include):
    """A table of the names that a header declares, with the first sentences of their comments."""
    names = listed_names(include)
    if not names:
        return []
    out = ['<table class="names">']
    for d in names:
        call = "()" if d.kind == "function" else ""
        brief = escaped(headers.first_sentence(d.comment))
        out.append(f'<tr><td>\\ref {d.namespace}::{d.name}{call} "{d.name}{call}"</td><td>{brief}</td></tr>')
    return out + ["</table>"]


def main_page():
    """The main page: a table of contents, then the names of every header by area."""
    areas = {}
    for header in headers.promised_headers():
        areas.setdefault(header.area, []).append(header)
    version = ".".join(re.findall(r"#define WEFT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", headers.path_of("weft/core/version.h").read_text()))
    out = [f"/** \\mainpage Weft {version}: API reference", "",
           "Weft is a C++20 library for computation graphs with automatic differentiation and for transformer models on CPUs. This reference",
           "lists the promised headers by area, and the classes and functions of each. Include a header by the path that its heading gives,",
           "and link the CMake target of its area. All names are in the namespace \\c weft. The \\ref graph_index \"list of headers\" has a",
           "page for each header.", "",
           '<table class="contents">']
    out = [line.replace('\\ref graph_index "list of headers"', '<a href="modules.html">list of headers</a>') for line in out]
    for area, members in areas.items():
        targets = ", ".join(f"<code>{t}</code>" for t in dict.fromkeys(target(h.include) for h in members))
        links = ", ".join(f'\\ref {group_of(h.include)} "{h.include.removeprefix("weft/")}"' for h in members)
        out.append(f'<tr><td>\\ref list_{area_group(area)} "{area}"</td><td>{targets}</td><td>{links}</td></tr>')
    out.append("</table>")
    for area, members in areas.items():
        out += ["", f"\\section list_{area_group(area)} {area}"]
        for header in members:
            out += ["", f'<p class="header">\\ref {group_of(header.include)} "{header.include}"</p>', f"{escaped(headers.summary(header.include))}."]
            out += other_headers(header.include) + names_table(header.include)
            for part in header.parts:
                if table := names_table(part):
                    out += ["", f'\\ref {group_of(part)} "{part_title(part)}":', *table]
    return "\n".join(out + ["*/"])


def write():
    """Writes the reference. Returns Doxygen's warnings, with the files and lines of the headers."""
    shutil.rmtree(HTML, ignore_errors=True)
    copies = write_copies()
    (OUT / "pages.dox").write_text(group_pages() + "\n" + main_page() + "\n")
    settings = (headers.ROOT / "cmake/docs/Doxyfile").read_text()
    result = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, cwd=headers.ROOT)
    warnings = []
    for line in result.stderr.split("\n"):
        if match := re.match(r"(.*?):(\d+): (.*)", line):
            path, number = pathlib.Path(match.group(1)), int(match.group(2))
            if path in copies:
                number = copies[path].numbers[min(number, len(copies[path].numbers)) - 1]
                line = f"{copies[path].path.relative_to(headers.ROOT)}:{number}: {match.group(3)}"
        if line.strip():
            warnings.append(line)
    return warnings


def main():
    if wrong := headers.list_errors() or write():
        print("\n".join(wrong))
        return 1
    print(f"{(HTML / 'index.html').relative_to(headers.ROOT)}: {len(headers.promised_headers())} promised headers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
