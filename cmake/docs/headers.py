"""Reads Weft's headers: what they declare, where, and which comment speaks for it.

The project's rule is that a `///` comment speaks for all the declarations below it up to a blank line or the next comment, and
that a `//` behind a declaration speaks for that one. This reads as much C++ as declarations in this project need.
"""

import dataclasses
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("core", "ops", "graph", "autodiff", "serialization", "models")


@dataclasses.dataclass
class Declaration:
    """A name that a header declares."""

    header: str  # as in #include: "weft/graph/functions/math.h"
    line: int  # of the first word of the declaration
    kind: str  # "function", "class", "enum", "alias", "variable"
    scope: str  # of classes only: "Session"; "" for what stands in the namespace
    name: str  # "run", "operator()", "Session" (a constructor)
    text: str  # on one line, without its body
    comment: str  # "" where none speaks for it
    comment_above: bool = False  # whether the comment stands directly above it

    @property
    def path(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def given(self):
        """Whether the language says what it does: copies, moves, destructors, comparisons by member."""
        return bool(
            self.name.startswith("~")
            or re.search(r"=\s*(default|delete)$", self.text)
            or (self.name == self.scope.split("::")[-1] and re.search(rf"\b{re.escape(self.name)}\((const {re.escape(self.name)}&|{re.escape(self.name)}&&)[^,]*\)", self.text))
            or (self.name == "operator=" and re.search(r"\((const \w+&|\w+&&)", self.text))
        )


def _path(include):
    """Where the header lies that is included as weft/..."""
    inner = include.removeprefix("weft/")
    return ROOT / (f"tests/{inner}" if inner.startswith("testing/") else "serialization/weft.h" if inner == "weft.h" else inner)


@functools.cache
def public_headers():
    """Paths of the headers that users include, by what `#include` calls them: those of cmake/public_headers.txt."""
    lines = (ROOT / "cmake/public_headers.txt").read_text().split("\n")
    return {f"weft/{line}": _path(f"weft/{line}") for line in lines if line and not line.startswith("#")}


def includes(path):
    """What a source includes of Weft."""
    return re.findall(r'^ *#include "(weft/[^"]+)"', path.read_text(), re.M)


def all_headers():
    """Paths of all headers, by what `#include` calls them."""
    found = {f"weft/{p.relative_to(ROOT)}": p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.h"))}
    return {**public_headers(), **found}


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def _code_only(text):
    """The text with comments, preprocessor lines and what stands in strings as blanks: every place stays where it is."""
    pattern = r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/|(?m:^[ \t]*#(?:[^\n]*\\\n)*[^\n]*)'
    return re.sub(pattern, _blank, text, flags=re.S)


def _matching(code, at, open_, close):
    depth = 0
    for i in range(at, len(code)):
        if code[i] == open_:
            depth += 1
        elif code[i] == close:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError(f"no {close} for the {open_} at {at}")


def _comments(lines):
    """For every line the `///` comment that ends there, and the text of a `//` behind code."""
    above, behind = {}, {}
    block = []
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("///"):
            block.append(stripped[3:].strip())
            above[number] = "\n".join(block)
            continue
        block = []
        match = re.search(r"[;,{}]\s*//(?!/)\s*(?!NOLINT)(.+)$", re.sub(r'"(?:\\.|[^"\\])*"', lambda m: " " * len(m.group(0)), line))
        if match:
            behind[number] = line[match.start(1):].strip()
    return above, behind


def _strip_templates(text):
    """Without `template <...>`, requirements and attributes in front."""
    text = re.sub(r"\[\[.*?\]\]\s*", "", text)
    while match := re.match(r"\s*template\s*<", text):
        depth, i = 0, match.end() - 1
        while True:
            depth += {"<": 1, ">": -1}.get(text[i], 0)
            i += 1
            if depth == 0:
                break
        text = text[i:]
        if match := re.match(r"\s*requires\s*(?=\()", text):
            text = text[_matching(text, match.end(), "(", ")") + 1:]
        elif match := re.match(r"\s*requires\s+[\w:]+\s*(<[^<>]*(<[^<>]*>[^<>]*)*>)?(\s*(&&|\|\|)\s*[\w:]+\s*(<[^<>]*(<[^<>]*>[^<>]*)*>)?)*", text):
            text = text[match.end():]
    return text.replace("decltype(auto)", "auto").strip()


def _function_name(text):
    """The name of the function that `text` declares, or None."""
    if match := re.search(r"\boperator\s*(\(\)|\[\]|[^\s\w(]+|\s\w[\w:<>&* ]*)\s*\(", text):
        return "operator" + re.sub(r"\s+", " ", match.group(1))
    if "(*" in text.split("=")[0]:
        return None  # a pointer to a function
    depth = 0
    for i, c in enumerate(text):
        if c == "<":
            depth += 1
        elif c == ">" and text[i - 1] != "-":
            depth -= 1
        elif c == "=" and depth == 0:
            return None
        elif c == "(" and depth == 0:
            match = re.search(r"(~?\w+)\s*$", text[:i])
            return match.group(1) if match and match.group(1) not in ("alignas", "decltype", "noexcept", "explicit") else None
    return None


def declarations(include, path):
    """What a header declares for its users, in order."""
    text = path.read_text()
    code = _code_only(text)
    lines = text.split("\n")
    above, behind = _comments(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def line_of(at):
        low, high = 0, len(starts) - 1
        while low + 1 < high:
            middle = (low + high) // 2
            if starts[middle] <= at:
                low = middle
            else:
                high = middle
        return low + 1

    found = []
    scopes = []  # (kind, name, public)
    comments = []  # of each of them
    speaking = ["", 0]  # the comment for what comes next, and the last line it holds for

    def hidden():
        return any(kind == "hidden" or not public for kind, _, public in scopes)

    def class_scope():
        return "::".join(name for kind, name, _ in scopes if kind == "class")

    def add(kind, name, begin, end, statement):
        first, last = line_of(begin), line_of(end)
        comment, directly = "", False
        own = [behind[n] for n in range(first, last + 1) if n in behind]
        if first - 1 in above:
            comment, directly = above[first - 1], True
        elif own and kind != "class":
            comment, directly = " ".join(own), True
        elif speaking[0] and kind != "class" and all(lines[n - 1].strip() for n in range(speaking[1] + 1, first)):
            comment = speaking[0]
        if comment and not (own and first - 1 not in above):
            speaking[0], speaking[1] = comment, last
        elif comment:
            speaking[1] = last
        if not hidden():
            found.append(Declaration(include, first, kind, class_scope(), name, re.sub(r"\s+", " ", statement).strip(), comment, directly))
        return comment

    def skip_body(at):
        """Behind the body that begins at or after `at`, braces of initialisers included."""
        while True:
            at = _matching(code, at, "{", "}") + 1
            rest = re.match(r"\s*(?:,[^;{]*)?(?=\{)", code[at:])
            if not rest:
                return at
            at += rest.end()

    at = 0
    while at < len(code):
        c = code[at]
        if c.isspace() or c == ";":
            at += 1
            continue
        if c == "}":
            scopes.pop()
            # What a class is made by often follows it: its comment speaks for that, too.
            speaking[0], speaking[1] = comments.pop(), line_of(at)
            at += 1
            continue
        if match := re.match(r"(public|private|protected)\s*:(?!:)", code[at:]):
            kind, name, _ = scopes[-1]
            scopes[-1] = (kind, name, match.group(1) == "public")
            speaking[0] = ""
            at += match.end()
            continue
        # A statement: to its `;`, or to the brace that begins a body.
        begin, depth = at, 0
        while code[at] not in ";{" or depth:
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        statement = _strip_templates(code[begin:at])
        shown = text[begin:at]
        shown = re.sub(r"\s*//[^\n]*", " ", shown)
        if code[at] == "{":
            if match := re.match(r"(?:inline\s+)?namespace\s*(?:WEFT_\w+\s+)?([\w:]*)", statement):
                name = match.group(1)
                scopes.append(("hidden" if name in ("", "custom_op") or "detail" in name or "internal" in name else "namespace", name, True))
                comments.append("")
                at += 1
                continue
            if statement.startswith("extern"):
                scopes.append(("namespace", "", True))
                comments.append("")
                at += 1
                continue
            if match := re.match(r"(class|struct|union)\s+(?:[A-Z_]+\s+)?((?:\w+::)*\w+(?:<.*>)?)\s*(?:final\s*)?(?::(?!:).*)?$", statement, re.S):
                comments.append(add("class", match.group(2), begin, begin, shown))
                scopes.append(("class", match.group(2), match.group(1) != "class"))
                speaking[0] = ""
                at += 1
                continue
            if match := re.match(r"enum\s+(?:class\s+|struct\s+)?(\w*)", statement):
                end = _matching(code, at, "{", "}")
                add("enum", match.group(1), begin, begin, shown)
                speaking[0] = ""
                at = code.index(";", end) + 1
                continue
            name = _function_name(statement)
            if name is not None:
                end = skip_body(at)
                signature = re.split(r"\)\s*:(?!:)", shown)[0] + (")" if re.search(r"\)\s*:(?!:)", shown) else "")
                add("function", name, begin, end - 1, signature)
                at = end
                continue
            # A variable or a concept with an initialiser in braces.
            while code[at:at + 1] != ";":
                if at >= len(code):
                    raise ValueError(f"{path}:{line_of(begin)}: not read: {statement[:60]}")
                at = _matching(code, at, "{", "}") + 1 if code[at] == "{" else at + 1
            shown = text[begin:at]
        kind, name = "variable", ""
        if match := re.match(r"using\s+(?:namespace\s+)?(\w+)\s*=", statement):
            kind, name = "alias", match.group(1)
        elif re.match(r"(using|typedef|static_assert|extern template|friend (class|struct)\b|concept\b)", statement):
            kind, name = ("alias", "") if not statement.startswith("concept") else ("class", re.match(r"concept\s+(\w+)", statement).group(1))
        elif re.match(r"(class|struct|union|enum)\b[^(={]*$", statement) and code[at] == ";":
            kind = "forward"
        elif (function := _function_name(statement)) is not None:
            kind, name = "function", function
            if not class_scope() and re.match(r"\w+\(", statement):
                kind = "forward"  # a deduction guide
        elif match := re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*|\{.*)?$", statement, re.S):
            name = match.group(1)
        if kind != "forward" and (name or kind != "alias"):
            add(kind, name, begin, at, shown)
        elif kind == "forward" or kind == "alias":
            speaking[0] = ""
        at += 1
    return found


def public_declarations():
    """What the headers that users include declare, by header."""
    return {include: declarations(include, path) for include, path in public_headers().items()}
