"""Reads Weft's headers: their declarations, the comments of these, and the list of public headers.

The project's rule for comments: a `///` comment applies to all declarations below it, up to a blank line or the next comment. A `//`
comment after a declaration on the same line applies to that declaration. The parser understands the subset of C++ that declarations in
this project use.
"""

import dataclasses
import functools
import itertools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("core", "ops", "graph", "autodiff", "serialization", "models")
LIST = ROOT / "cmake/public_headers.txt"
UNPROMISED = "Installed, not promised"  # the title of the last section of the list


@dataclasses.dataclass
class Declaration:
    """A declaration in a header."""

    header: str  # as in #include: "weft/graph/functions/math.h"
    line: int  # of the first token of the declaration
    kind: str  # "function", "class", "enum", "alias", "variable"
    scope: str  # the enclosing classes, "Session"; "" at namespace scope
    name: str  # "run", "operator()", "Session" (a constructor)
    text: str  # on one line, without the body
    comment: str  # "" if no comment applies
    comment_above: bool = False  # True if the comment is directly above the declaration, or on its line
    namespace: str = "weft"  # "weft::testing"

    @property
    def path(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def given(self):
        """True if the language defines its behaviour: copies, moves, destructors, defaulted comparisons."""
        return bool(
            self.name.startswith("~")
            or re.search(r"=\s*(default|delete)$", self.text)
            or (self.name == self.scope.split("::")[-1] and re.search(rf"\b{re.escape(self.name)}\((const {re.escape(self.name)}&|{re.escape(self.name)}&&)[^,]*\)", self.text))
            or (self.name == "operator=" and re.search(r"\((const \w+&|\w+&&)", self.text))
        )


def path_of(include):
    """The file that is included as weft/... ."""
    inner = include.removeprefix("weft/")
    if inner == "weft.h":
        return ROOT / "models/weft.h"
    return ROOT / (f"tests/testing_lib/{inner.removeprefix('testing/')}" if inner.startswith("testing/") else inner)


@dataclasses.dataclass
class PublicHeader:
    """A promised header with its parts."""

    include: str  # "weft/graph/functions.h"
    area: str  # the title of its section in the list
    parts: list  # "weft/graph/functions/math.h", ...: headers that it includes and whose declarations belong to it


@functools.cache
def _read_list():
    """The promised headers, and the includes of the section `UNPROMISED`."""
    promised, unpromised, area = [], [], None
    for line in LIST.read_text().split("\n"):
        if not line or line.startswith("#"):
            continue
        if line.startswith("== "):
            area = line[3:]
        elif area == UNPROMISED:
            unpromised.append(f"weft/{line}")
        elif line.startswith(" "):
            promised[-1].parts.append(f"weft/{line.strip()}")
        else:
            promised.append(PublicHeader(f"weft/{line}", area, []))
    return promised, unpromised


def promised_headers():
    """The promised headers, in the order of the list."""
    return _read_list()[0]


def unpromised_headers():
    """The includes of headers that are installed without a promise."""
    return _read_list()[1]


@functools.cache
def public_headers():
    """Paths of the promised headers and of their parts, by include."""
    return {include: path_of(include) for header in promised_headers() for include in (header.include, *header.parts)}


@functools.cache
def umbrellas():
    """For every public header the promised header that users include: itself, or the header that it is a part of."""
    return {include: header.include for header in promised_headers() for include in (header.include, *header.parts)}


def list_errors():
    """Errors in the list: missing files, headers that are listed twice, parts that their promised header does not include."""
    listed = [include for header in promised_headers() for include in (header.include, *header.parts)] + unpromised_headers()
    missing = [include for include in listed if not path_of(include).exists()]
    if missing:
        return [f"{LIST.relative_to(ROOT)}: {include} does not exist" for include in missing]
    twice = [f"{LIST.relative_to(ROOT)}: {i} is listed more than once" for i in sorted(set(listed)) if listed.count(i) > 1]
    unreached = [f"{LIST.relative_to(ROOT)}: {header.include} does not include its part {part}"
                 for header in promised_headers() for part in header.parts if part not in included_headers(header.include)]
    return twice + unreached


def includes(path):
    """The headers of Weft that a source includes directly."""
    return re.findall(r'^ *#include "(weft/[^"]+)"', path.read_text(), re.M)


@functools.cache
def included_headers(include):
    """The headers of Weft that a header includes, directly or indirectly."""
    found, left = set(), includes(path_of(include))
    while left:
        header = left.pop()
        if header not in found:
            found.add(header)
            left += includes(path_of(header))
    return found


def all_headers():
    """Paths of all headers, by include."""
    found = {f"weft/{p.relative_to(ROOT)}": p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.h"))}
    return {**public_headers(), **found}


def split_first_sentence(comment):
    """The first sentence of a comment, without its full stop, and the rest of the comment."""
    lines = comment.split("\n")
    count = 0  # lines of the first paragraph, which a formula or an example may end
    while count < len(lines) and lines[count].strip() and not (count and lines[count].startswith("  ")):
        count += 1
    sentences = re.split(r"(?<=[.])\s+(?=[A-Z`\"])", " ".join(line.strip() for line in lines[:count]), maxsplit=1)
    return sentences[0].rstrip(".:"), "\n".join(sentences[1:] + lines[count:])


def first_sentence(comment):
    """The first sentence of a comment, without its full stop."""
    return split_first_sentence(comment)[0]


def summary(include):
    """The first sentence of a header's leading comment, without its full stop."""
    return first_sentence(leading_comment(include))


def leading_comment(include):
    """The `//` comment at the top of a header."""
    lines = itertools.takewhile(lambda line: line.startswith("//"), path_of(include).read_text().split("\n"))
    return "\n".join(line[2:].removeprefix(" ") for line in lines)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def _code_only(text):
    """The text with comments, preprocessor lines and string literals replaced by blanks; offsets do not change."""
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
    raise ValueError(f"unbalanced {open_} at offset {at}")


def line_comments(lines):
    """By line number: the `///` comment that ends there, and the text of a `//` comment after code."""
    above, trailing = {}, {}
    block = []
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("///"):
            block.append(stripped[3:].removeprefix(" "))
            above[number] = "\n".join(block)
            continue
        block = []
        match = re.search(r"[;,{}]\s*//(?!/|\s*NOLINT)\s*(.+)$", re.sub(r'"(?:\\.|[^"\\])*"', lambda m: " " * len(m.group(0)), line))
        if match:
            trailing[number] = line[match.start(1):].strip()
    return above, trailing


def _strip_templates(text):
    """The text without leading attributes, `template <...>` and requires-clauses."""
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
    """The name of the function that `text` declares; None if it declares something else."""
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
    """The declarations of a header that its users may name, in order."""
    text = path.read_text()
    code = _code_only(text)
    lines = text.split("\n")
    above, trailing = line_comments(lines)
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
    comments = []  # of the scopes
    current = ["", 0]  # the comment that applies to the next declaration, and the last line that it applied to

    def hidden():
        return any(kind == "hidden" or not public for kind, _, public in scopes)

    def class_scope():
        return "::".join(name for kind, name, _ in scopes if kind == "class")

    def add(kind, name, begin, end, statement):
        first, last = line_of(begin), line_of(end)
        comment, directly = "", False
        own = [trailing[n] for n in range(first, last + 1) if n in trailing]
        if first - 1 in above:
            comment, directly = above[first - 1], True
        elif own and kind != "class":
            comment, directly = " ".join(own), True
        elif current[0] and kind != "class" and all(lines[n - 1].strip() for n in range(current[1] + 1, first)):
            comment = current[0]
        if comment and not (own and first - 1 not in above):
            current[0], current[1] = comment, last
        elif comment:
            current[1] = last
        if not hidden():
            namespace = "::".join(name for kind, name, _ in scopes if kind == "namespace" and name)
            found.append(Declaration(include, first, kind, class_scope(), name, re.sub(r"\s+", " ", statement).strip(), comment, directly,
                                     namespace))
        return comment

    def skip_body(at):
        """The offset after the body that begins at or after `at`; braces of member initialisers are skipped as well."""
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
            # Functions that create an object often follow its class without a blank line: the comment of the class applies to them.
            current[0], current[1] = comments.pop(), line_of(at)
            at += 1
            continue
        if match := re.match(r"(public|private|protected)\s*:(?!:)", code[at:]):
            kind, name, _ = scopes[-1]
            scopes[-1] = (kind, name, match.group(1) == "public")
            current[0] = ""
            at += match.end()
            continue
        # A statement ends with `;` or with the brace that opens a body.
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
                current[0] = ""
                at += 1
                continue
            if match := re.match(r"enum\s+(?:class\s+|struct\s+)?(\w*)", statement):
                end = _matching(code, at, "{", "}")
                add("enum", match.group(1), begin, begin, shown)
                current[0] = ""
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
                    raise ValueError(f"{path}:{line_of(begin)}: cannot parse the declaration: {statement[:60]}")
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
            current[0] = ""
        at += 1
    return found


def public_declarations():
    """The declarations of the promised headers and of their parts, by header."""
    return {include: declarations(include, path) for include, path in public_headers().items()}
