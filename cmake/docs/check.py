#!/usr/bin/env python3
"""Checks the documentation of the public headers (./run check docs): every function, class and enum has a comment, members of structs
that users write have initialisers, and Doxygen writes the API reference (reference.py) without a warning.

  cmake/docs/check.py [--comments]      --comments skips Doxygen
"""

import collections
import re
import sys

import headers
import reference


def needs_comment(d, first_class):
    """True if a declaration without a comment needs one."""
    if d.given or d.kind in ("variable", "alias"):
        return False
    if d.kind == "class":
        # The leading comment of a header describes its first class, and functions describe the options that they take.
        return not first_class and not d.name.endswith("Options") and "<" not in d.name
    if d.kind == "function":
        if "override" in d.text or d.name.startswith("operator") or d.name in ("begin", "end", "size", "describe", "choice_names"):
            return False
        if d.scope and (d.name == d.scope.split("::")[-1].split("<")[0] or re.search(r"\(\s*\)\s*const", d.text)):
            return False  # constructors and accessors
        if re.search(r"\w+(<\w+>)?::" + re.escape(d.name) + r"\s*\(", d.text):
            return False  # the definition of a member function
        if d.name == "add" and d.scope.endswith("Ops"):
            return False  # the families of built-in operations
    return True


def uncommented():
    """Errors for the declarations that lack a comment."""
    found = []
    for include, path in headers.public_headers().items():
        classes = 0
        for d in headers.declarations(include, path):
            classes += d.kind == "class"
            if not d.comment and needs_comment(d, d.kind == "class" and classes == 1):
                found.append(f"{path.relative_to(headers.ROOT)}:{d.line}: {d.path} has no comment: {d.text[:70]}")
    return found


# Structs that users write although a function returns them, in addition to those that functions take and no function returns.
ALSO_WRITTEN = ("Kernel", "KernelRequest", "OperandSpec", "PackedInput", "Phase", "ScanElements", "TrainTask")


def written_structs(found):
    """Structs without constructors that users write, each with the declarations of its members."""
    made_by_constructor = {d.scope for d in found if d.kind == "function" and d.scope and d.name == d.scope.split("::")[-1].split("<")[0]}
    members = collections.defaultdict(list)
    for d in found:
        if d.kind == "variable" and d.scope and d.scope not in made_by_constructor and not re.match(r"(static|friend|using|typedef)\b", d.text):
            members[d.scope].append(d)
    struct_of = {scope.split("::")[-1]: scope for scope in members if "<" not in scope}
    named = lambda text: {struct_of[word] for word in re.findall(r"\w+", text) if word in struct_of}
    taken, made = set(), set()
    for d in found:
        if d.kind == "function" and not d.given:
            result, parameters = re.split(rf"{re.escape(d.name)}\s*\(", d.text + "(", maxsplit=1)
            taken |= named(parameters)
            made |= named(result)
    left = list(taken - made | named(" ".join(ALSO_WRITTEN)))
    written = {}
    while left:
        scope = left.pop()
        if scope not in written:
            written[scope] = members[scope]
            left += [other for d in members[scope] for other in named(re.split(rf"\b{re.escape(d.name)}\b", d.text)[0]) if d.name]
    return written


def without_initialiser():
    """Errors for members whose omission gives users a warning (-Wmissing-field-initializers). The first member may lack an initialiser."""
    found = [d for all_ in headers.public_declarations().values() for d in all_]
    wrong = []
    for scope, members in sorted(written_structs(found).items()):
        for i, d in enumerate(members):
            text = d.text
            while (inner := re.sub(r"\{[^{}]+\}|\([^()]*\)|<[^<>]*>", lambda m: "{}" if m.group(0)[0] == "{" else "", text)) != text:
                text = inner
            if any((i or j) and not re.search(r"[={]", name) for j, name in enumerate(text.split(","))):
                path = headers.public_headers()[d.header].relative_to(headers.ROOT)
                wrong.append(f"{path}:{d.line}: users write {scope}, and a member has no initialiser (` = {{}}`): {d.text}")
    return wrong


def main():
    wrong = headers.list_errors() or uncommented() + without_initialiser()
    if not wrong and "--comments" not in sys.argv:
        wrong = reference.write()
    print("\n".join(wrong) if wrong else "docs: no findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
