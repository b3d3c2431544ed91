#!/usr/bin/env python3
"""The index of public functions: tests/INDEX.md lists each with a source that shows its use.

  cmake/docs/index.py           writes tests/INDEX.md (`./run index`)
  cmake/docs/index.py --check   fails where a function has no use in an example, a page or a test, and where it lacks one, has
                                one that is gone, or names a source that does not show it (the test `index`)

Public are the functions of the headers that users include (cmake/public_headers.txt) and the functions of their classes. Left out are
operators, constructors, what a class only overrides, and what SHOWN_TOGETHER says. All sources are compiled and run by the tests.
What stands in the way of whoever writes a model (models/, ops/, the graph's machinery) may be shown by the library's own source.
"""

import collections
import pathlib
import re
import sys

import headers

ROOT = headers.ROOT
PAGE = ROOT / "tests/INDEX.md"

# What is shown with something else: by name, or by header. A reason for each.
SHOWN_TOGETHER = {
    "names": {
        "describe": "lists the fields of a part of a tokenizer: called by what reads and writes all parts",
        "describe_settings": "as describe",
        "choice_names": "the names of an enum's values: called by parse_choice() and choice_name()",
        "fields": "the fields of a config: called by from_json(), to_json() and the command line",
        "file_layout": "the parts of a model's file: called by save_model() and load_model()",
        "begin": "for loops over a range",
        "end": "for loops over a range",
    },
    "classes": {
        "StoreAccess": "what Sessions do with a store; not for users",
        "Padding1d": "written as a number or same_padding",
        "Padding2d": "written as a number, a pair or same_padding",
        "NothingAround": "the part of a tokenizer that does nothing",
    },
    "headers": {
        "weft/ops/builtin.h": "the lists of built-in ops: builtin_ops() has them all",
        "weft/autodiff/rule.h": "the lists of built-in rules: builtin_rules() has them all",
        "weft/graph/decompositions/decomposition.h": "the lists of built-in definitions: builtin_decompositions() has them all",
    },
}

# Where uses are looked for, the best place first: what is written for users, tests, programs, and the library's own sources.
PLACES = ("tests/examples/*.cc", "tests/consumer/*.cc", "tests/consumer/*/*.cc", "tests/pages/*.cc",
          "tests/*/*.cc", "tests/*/*.h", "tests/*/*/*.cc", "tests/*/*/*.h",
          "models/zoo/*.cc", "models/zoo/*/*.cc", "models/program/*.cc", "models/program/bench/*.cc",
          "models/*/*.cc", "models/*/*/*.cc", "ops/*.cc", "ops/*/*.cc", "autodiff/optimizers/*.cc", "autodiff/rules/*.cc", "graph/*/*.cc")
TESTS, PROGRAMS, LIBRARY = (PLACES.index(p) for p in ("tests/*/*.cc", "models/zoo/*.cc", "models/*/*.cc"))
# From LIBRARY on: for those that this names alone.
LIBRARY_SHOWS = re.compile("weft/(models/(?!layers/norm|layers/recurrent)|ops/|graph/(ir|control/call|plan)|serialization/match|autodiff/(rule|optimizers/(state|step_builder|sparse)))")


def is_listed(d):
    """Whether a declaration is a function that the index lists."""
    if d.kind != "function" or d.given or d.name.startswith("operator") or d.name in SHOWN_TOGETHER["names"]:
        return False
    if d.scope.split("::")[0] in SHOWN_TOGETHER["classes"]:
        return False
    if d.header in SHOWN_TOGETHER["headers"] and d.name.startswith("add_"):
        return False
    if d.scope and (d.name == d.scope.split("::")[-1].split("<")[0] or re.search(r"\b(override|final)\b", d.text)):
        return False
    if d.text.startswith("template <>") or re.search(r"\w+(<\w+>)?::" + re.escape(d.name) + r"\s*\(", d.text):
        return False  # a specialisation, or the body of what a class declares
    return True


class Sources:
    """The sources that may show a use, with what they include."""

    def __init__(self):
        self.text, self.rank, self.words = {}, {}, {}
        for rank, pattern in enumerate(PLACES):
            for path in sorted(ROOT.glob(pattern)):
                name = str(path.relative_to(ROOT))
                if name not in self.text and not name.startswith("tests/fixtures"):
                    # Names in comments and strings are no uses.
                    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: m.group(0) if "weft/" in m.group(0) else '""', path.read_text())
                    self.text[name], self.rank[name] = code, rank
        self.called = collections.defaultdict(set)  # name -> sources that call something of this name
        self.reached = collections.defaultdict(set)  # name -> sources that call it of an object or class
        for name, code in self.text.items():
            for match in re.finditer(r"(\.|->|\b\w+::)?\s*\b(\w+)\s*(?:<[^<>;(){}]*(?:<[^<>]*>)?[^<>;(){}]*>)?\s*\(", code):
                qualifier, called = match.groups()
                if qualifier == "std::":
                    continue
                if qualifier not in (".", "->"):
                    self.called[called].add(name)
                if qualifier:
                    self.reached[called].add(name)
            for match in re.finditer(r"(?:&\w+::|[(,{]\s*|= )(\w+)\s*[,)};]", code):  # handed over by name
                self.called[match.group(1)].add(name)
            self.words[name] = set(re.findall(r"\w+", code))
        self.includes = {n: set(re.findall(r'#include "(weft/[^"]+)"', t)) for n, t in self.text.items()}
        self.closures = {}
        self.header_includes = {i: set(re.findall(r'#include "(weft/[^"]+)"', p.read_text())) for i, p in headers.all_headers().items()}

    def closure(self, name):
        """All of Weft's headers that a source sees."""
        if name not in self.closures:
            seen, left = set(), list(self.includes[name])
            for local in re.findall(r'#include "([^"/]+)"', self.text[name]):
                beside = str(pathlib.PurePath(name).parent / local)
                left += self.includes.get(beside, ())
            while left:
                header = left.pop()
                if header not in seen:
                    seen.add(header)
                    left += self.header_includes.get(header, ())
            self.closures[name] = seen
        return self.closures[name]

    def may_show(self, name, d):
        # What defines a function does not show it.
        return self.rank[name] < LIBRARY or (LIBRARY_SHOWS.match(d.header) and name != d.header[5:-2] + ".cc")

    def shows(self, d):
        """The sources that use a function."""
        if not d.scope:
            return [n for n in self.called[d.name] if d.header in self.closure(n) and self.may_show(n, d)]
        classes = set(re.sub(r"<.*", "", d.scope).split("::"))
        candidates = self.reached[d.name] | (self.called[d.name] if "friend " in d.text else set())
        if "virtual" in d.text:  # called by the machinery; a user gives one's own
            candidates = candidates | self.called[d.name]
        near = [n for n in candidates if d.header in self.closure(n) and self.may_show(n, d)]
        return [n for n in near if classes & self.words[n]] or near

    def best(self, d):
        stem = pathlib.PurePath(d.header).stem
        found = self.shows(d)
        if not found:
            return None
        direct = lambda n: d.header not in self.includes[n] and not (d.header.startswith("weft/graph/functions/") and "weft/graph/functions.h" in self.includes[n])
        own = lambda n: stem not in n
        place = lambda n: sum(self.rank[n] >= first for first in (TESTS, PROGRAMS))
        return min(found, key=lambda n: (place(n), own(n) if place(n) else False, direct(n), self.rank[n], len(self.text[n]), n))


def listed():
    """The functions of the index, by header (some have only types); overloads are one."""
    table = collections.OrderedDict()
    for include, all_ in headers.public_declarations().items():
        functions = collections.OrderedDict()
        for d in all_:
            if is_listed(d):
                functions.setdefault(d.path, d)
        table[include] = list(functions.values())
    return table


def about(include):
    """What a header's first lines say of it."""
    lines = []
    for line in headers.public_headers()[include].read_text().split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    text = " ".join(lines)
    return re.split(r"(?<=[.:]) ", text)[0].rstrip(".:")


def write(table, sources):
    out = ["# Public functions, each with an example", "",
           "The headers that users include, which are promised (`cmake/README.md`), with all their functions, each beside a source that shows its use and",
           "is compiled and run by the tests: an example to copy where there is one, else a test. `./run index` writes this page from",
           "`cmake/public_headers.txt`; the test `index` fails where a function has no use.", ""]
    folder = None
    for include, functions in table.items():
        here = str(pathlib.PurePath(include).parent)
        if here != folder:
            folder = here
            out += [f"## {folder}", ""]
        out += [f"**{pathlib.PurePath(include).name}**: {about(include)}", ""]
        if not functions:
            continue
        out += ["| function | shown by |", "| --- | --- |"]
        shown = collections.OrderedDict()
        for d in functions:
            shown.setdefault(sources.best(d), []).append(d.path)
        for source, names in shown.items():
            out.append("| " + ", ".join(f"`{n}`" for n in names) + f" | [{source}](../{source}) |")
        out.append("")
    PAGE.write_text("\n".join(out[:-1]) + "\n")


def read_page():
    """What INDEX.md says: header -> function -> source."""
    found, folder, header = collections.defaultdict(dict), None, None
    for line in PAGE.read_text().split("\n"):
        if line.startswith("## "):
            folder = line[3:]
        elif match := re.match(r"\*\*([\w.]+)\*\*: ", line):
            header = f"{folder}/{match.group(1)}"
            found[header] = {}
        elif match := re.match(r"\| (`.*`) \| \[(.*?)\]", line):
            for name in re.findall(r"`([^`]+)`", match.group(1)):
                found[header][name] = match.group(2)
    return found


def includes_of_examples():
    """What examples and pages include that is not promised."""
    wrong = []
    for pattern in PLACES[:TESTS]:
        for path in sorted(ROOT.glob(pattern)):
            for include in headers.includes(path):
                if include not in headers.public_headers() and not include.startswith("weft/tests/"):
                    wrong.append(f"{path.relative_to(ROOT)} shows users {include}, which cmake/public_headers.txt does not name")
    return wrong


def check(table, sources):
    wrong = includes_of_examples()
    page = read_page() if PAGE.exists() else {}
    wrong += [f"tests/INDEX.md does not name {i}: `./run index` writes it" for i in headers.public_headers() if i not in page]
    for include, functions in table.items():
        for d in functions:
            place = f"{str(headers.public_headers()[include].relative_to(ROOT))}:{d.line}: {d.path}()"
            if not sources.shows(d):
                wrong.append(f"{place} has no use: show it in an example, a page (tests/pages) or a test")
                continue
            source = page.get(include, {}).get(d.path)
            if source is None:
                wrong.append(f"{place} is not in tests/INDEX.md: `./run index` writes it")
            elif source not in sources.text or source not in sources.shows(d):
                wrong.append(f"{place} is not shown by {source}: `./run index` finds another source")
    for include, functions in page.items():
        if include not in headers.public_headers():
            wrong.append(f"tests/INDEX.md names {include}, which is not in cmake/public_headers.txt: `./run index`")
            continue
        known = {d.path for d in table.get(include, ())}
        wrong += [f"tests/INDEX.md: there is no {name}() in {include} any more: `./run index`" for name in functions if name not in known]
    return wrong


def main():
    gone = [include for include, path in headers.public_headers().items() if not path.exists()]
    if gone:
        print(f"cmake/public_headers.txt names what is not there: {', '.join(gone)}")
        return 1
    table, sources = listed(), Sources()
    if "--check" in sys.argv:
        wrong = check(table, sources)
        print("\n".join(wrong) if wrong else f"index: {sum(map(len, table.values()))} functions, each with an example")
        return 1 if wrong else 0
    missing = [d for functions in table.values() for d in functions if not sources.shows(d)]
    for d in missing:
        print(f"{d.header}:{d.line}: {d.path}() has no use")
    if missing:
        return 1
    write(table, sources)
    print(f"tests/INDEX.md: {sum(map(len, table.values()))} functions of {len(table)} headers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
