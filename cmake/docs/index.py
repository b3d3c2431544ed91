#!/usr/bin/env python3
"""The index of public functions: build/docs/INDEX.md lists the signature of each function with a source that shows its use.

  cmake/docs/index.py           writes build/docs/INDEX.md (part of `./run docs`)
  cmake/docs/index.py --check   fails if a public function has no use in an example, a page or a test, if an example or a page includes
                                a header that is not public, or if cmake/public_headers.txt has errors (the test `index`)

Public functions are the functions that the promised headers and their parts declare (cmake/public_headers.txt), including member
functions. Operators, constructors, overrides and the entries of SHOWN_TOGETHER are left out. The tests compile and run all sources
that count as uses. For the interfaces listed in LIBRARY_SHOWS the library's own sources count as well.
"""

import collections
import pathlib
import re
import sys

import headers

ROOT = headers.ROOT
PAGE = ROOT / "build/docs/INDEX.md"

# Functions that need no use of their own, by name, class or header, each with the reason.
SHOWN_TOGETHER = {
    "names": {
        "describe": "lists the fields of a tokenizer component; called by the code that reads and writes all components",
        "describe_settings": "as describe",
        "choice_names": "the names of the values of an enum; called by parse_choice() and choice_name()",
        "fields": "the fields of a config; called by from_json(), to_json() and the command line",
        "file_layout": "the parts of a model file; called by save_model() and load_model()",
        "to_folder": "a model in Hugging Face layout; called by save_folder()",
        "begin": "called by range-based for loops",
        "end": "called by range-based for loops",
    },
    "classes": {
        "StoreAccess": "the access of Sessions to a store; not for users",
        "Padding1d": "constructed implicitly from a number or same_padding",
        "Padding2d": "constructed implicitly from a number, a pair or same_padding",
        "NoSpecialTokens": "a tokenizer component that does nothing",
    },
    "headers": {
        "weft/ops/builtin.h": "the families of built-in ops; builtin_ops() and builtin_rules() add all of them",
    },
}

# Files that may contain uses, in order of preference: sources written for users, tests, programs, the library's own sources.
PLACES = ("tests/examples/*.cc", "tests/consumer/*.cc", "tests/consumer/*/*.cc", "tests/pages/*.cc",
          "tests/*/*.cc", "tests/*/*.h", "tests/*/*/*.cc", "tests/*/*/*.h",
          "models/zoo/*.cc", "models/zoo/*/*.cc", "models/program/*.cc", "models/program/*/*.cc",
          "models/*/*.cc", "models/*/*/*.cc", "models/*/*/*/*.cc", "ops/*.cc", "ops/*/*.cc", "autodiff/optimizers/*.cc", "autodiff/rules/*.cc", "graph/*/*.cc")
TESTS, PROGRAMS, LIBRARY = (PLACES.index(p) for p in ("tests/*/*.cc", "models/zoo/*.cc", "models/*/*.cc"))
# Headers whose functions the library's own sources may show: interfaces for authors of models and operations, and functions that share
# a header with a public type.
LIBRARY_SHOWS = re.compile(
    "weft/(models/(?!layers/norm|layers/recurrent)|ops/|core/world/gradient_sums|graph/(ir|control/call|plan|functions/axes|weights/quantized)"
    "|serialization/match|autodiff/(rule|optimizers/(state|step_builder|sparse)))")


def is_listed(d):
    """True if a declaration is a function that the index lists."""
    if d.kind != "function" or d.given or d.name.startswith("operator") or d.name in SHOWN_TOGETHER["names"]:
        return False
    if d.scope.split("::")[0] in SHOWN_TOGETHER["classes"]:
        return False
    if d.header in SHOWN_TOGETHER["headers"] and d.name.startswith("add"):
        return False
    if d.scope and (d.name == d.scope.split("::")[-1].split("<")[0] or re.search(r"\b(override|final)\b", d.text)):
        return False
    if d.text.startswith("template <>") or re.search(r"\w+(<\w+>)?::" + re.escape(d.name) + r"\s*\(", d.text):
        return False  # a specialisation, or the definition of a member function
    return True


class Sources:
    """The sources that may contain uses, with their includes."""

    def __init__(self):
        self.text, self.rank, self.words = {}, {}, {}
        for rank, pattern in enumerate(PLACES):
            for path in sorted(ROOT.glob(pattern)):
                name = str(path.relative_to(ROOT))
                if name not in self.text and not name.startswith("tests/fixtures"):
                    # Names in comments and strings are not uses.
                    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: m.group(0) if "weft/" in m.group(0) else '""', path.read_text())
                    self.text[name], self.rank[name] = code, rank
        self.called = collections.defaultdict(set)  # name -> sources that call a function of this name
        self.reached = collections.defaultdict(set)  # name -> sources that call it as a member of an object or class
        for name, code in self.text.items():
            for match in re.finditer(r"(\.|->|\b\w+::)?\s*\b(\w+)\s*(?:<[^<>;(){}]*(?:<[^<>]*>)?[^<>;(){}]*>)?\s*\(", code):
                qualifier, called = match.groups()
                if qualifier == "std::":
                    continue
                if qualifier not in (".", "->"):
                    self.called[called].add(name)
                if qualifier:
                    self.reached[called].add(name)
            for match in re.finditer(r"(?:&\w+::|[(,{]\s*|= )(\w+)\s*[,)};]", code):  # passed by name
                self.called[match.group(1)].add(name)
            self.words[name] = set(re.findall(r"\w+", code))
        self.includes = {n: set(re.findall(r'#include "(weft/[^"]+)"', t)) for n, t in self.text.items()}
        self.closures = {}
        self.header_includes = {i: set(re.findall(r'#include "(weft/[^"]+)"', p.read_text())) for i, p in headers.all_headers().items()}

    def closure(self, name):
        """The headers of Weft that a source includes, directly or indirectly."""
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
        # The source that defines a function is not a use.
        return self.rank[name] < LIBRARY or (LIBRARY_SHOWS.match(d.header) and name != d.header[5:-2] + ".cc")

    def shows(self, d):
        """The sources that use a function."""
        if not d.scope:
            return [n for n in self.called[d.name] if d.header in self.closure(n) and self.may_show(n, d)]
        classes = set(re.sub(r"<.*", "", d.scope).split("::"))
        candidates = self.reached[d.name] | (self.called[d.name] if "friend " in d.text else set())
        if "virtual" in d.text:  # called by the library; users override it
            candidates = candidates | self.called[d.name]
        near = [n for n in candidates if d.header in self.closure(n) and self.may_show(n, d)]
        return [n for n in near if classes & self.words[n]] or near

    def best(self, d):
        stem = pathlib.PurePath(d.header).stem
        found = self.shows(d)
        if not found:
            return None
        direct = lambda n: not {d.header, headers.umbrellas()[d.header]} & self.includes[n]
        own = lambda n: stem not in n
        place = lambda n: sum(self.rank[n] >= first for first in (TESTS, PROGRAMS))
        return min(found, key=lambda n: (place(n), own(n) if place(n) else False, direct(n), self.rank[n], len(self.text[n]), n))


def listed():
    """The functions of the index by header; overloads are one entry, and headers without functions have an empty list."""
    table = collections.OrderedDict()
    for include, all_ in headers.public_declarations().items():
        functions = collections.OrderedDict()
        for d in all_:
            if is_listed(d):
                functions.setdefault(d.path, d)
        table[include] = list(functions.values())
    return table


def signature(d):
    """The declaration of a function, with its class and without the parameter for the caller's source line."""
    text = re.sub(r",? ?SourceLocation loc( = SourceLocation::current\(\))?", "", d.text)
    return re.sub(rf"\b{re.escape(d.name)}\(", lambda m: d.path + "(", text, count=1) if d.scope else text


def rows(functions, sources):
    """The lines of a table of functions with their overloads."""
    if not functions:
        return []
    overloads = collections.defaultdict(list)
    for d in headers.public_declarations()[functions[0].header]:
        if is_listed(d):
            overloads[d.path].append(signature(d))
    cells = [("<br>".join(f"`{s}`" for s in overloads[d.path]).replace("|", "\\|"), sources.best(d)) for d in functions]
    return ["| function | shown by |", "| --- | --- |"] + [f"| {cell} | [{source}](../../{source}) |" for cell, source in cells] + [""]


def write(table, sources):
    """Writes the page."""
    out = ["# Public functions and their uses", "",
           "Every function of the promised headers, with its signature and a source that shows its use. A title is the header to include. The",
           "last parameter of most functions, the caller's source line, is left out. The tests compile and run the sources. Examples are",
           "preferred; a test is listed if no example uses the function. `./run docs` writes this page from `cmake/public_headers.txt`.", ""]
    area = None
    for header in headers.promised_headers():
        if header.area != area:
            area = header.area
            out += [f"## {area}", ""]
        out += [f"### `{header.include}`", "", f"{headers.summary(header.include)}.", ""]
        out += rows(table[header.include], sources)
        for part in header.parts:
            if table[part]:
                out += [f"{headers.summary(part)} (part `{part.removeprefix('weft/')}`):", ""] + rows(table[part], sources)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(out[:-1]) + "\n")


def include_errors():
    """Includes of examples and pages that are not in cmake/public_headers.txt."""
    listed = {header.include for header in headers.promised_headers()} | set(headers.unpromised_headers())
    wrong = []
    for pattern in PLACES[:TESTS]:
        for path in sorted(ROOT.glob(pattern)):
            for include in headers.includes(path):
                place = path.relative_to(ROOT)
                if include in headers.umbrellas() and include not in listed:
                    wrong.append(f'{place}: include "{headers.umbrellas()[include]}" instead of its part "{include}"')
                elif include not in listed and not include.startswith("weft/tests/"):
                    wrong.append(f'{place}: includes "{include}", which cmake/public_headers.txt does not list')
    return wrong


def unused(table, sources):
    """Errors for the functions that no source uses."""
    return [f"{headers.public_headers()[include].relative_to(ROOT)}:{d.line}: {d.path}() has no use: add one to an example, a page "
            "(tests/pages) or a test" for include, functions in table.items() for d in functions if not sources.shows(d)]


def main():
    if wrong := headers.list_errors():
        print("\n".join(wrong))
        return 1
    table, sources = listed(), Sources()
    checking = "--check" in sys.argv
    wrong = unused(table, sources) + (include_errors() if checking else [])
    if wrong:
        print("\n".join(wrong))
        return 1
    counts = f"{sum(map(len, table.values()))} functions, {len(headers.promised_headers())} promised headers"
    if checking:
        print(f"index: {counts}; every function has a use")
    else:
        write(table, sources)
        print(f"{PAGE.relative_to(ROOT)}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
