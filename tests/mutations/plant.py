#!/usr/bin/env python3
"""Plants faults in a copy of the tree, one by one, and says which tests catch them.

usage: ./run check mutations [NAME...]        (or tests/mutations/plant.py [OPTIONS] [NAME...])

Every *.toml file beside this one lists faults. NAME is that of a fault, or of such a file without
its ending; faults are planted in the order of the names. Without names all are planted.
"""
import argparse
import dataclasses
import fnmatch
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# A fault may ask for any amount of memory; that must not end the machine.
MOST_MEMORY = 64 << 30
TESTS = re.compile(r"BOOST_(?:AUTO|FIXTURE)_TEST_(CASE|SUITE|SUITE_END)\(\s*(\w*)")


@dataclasses.dataclass
class Mutation:
    name: str
    about: str  # what is wrong then
    file: str
    old: str  # stands exactly once in the file
    new: str
    suites: list[str]  # "ops -t attention*": tests/ops with these arguments; most likely first
    group: str
    after: bool = False  # chosen when the tests were there


class Broken(Exception):
    """The list of faults and the tree do not fit each other."""


def read_mutations() -> list[Mutation]:
    mutations = []
    for path in sorted(HERE.glob("*.toml")):
        try:
            for entry in tomllib.loads(path.read_text())["mutation"]:
                mutations.append(Mutation(**entry, group=path.stem))
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as e:
            raise Broken(f"{path.name} is no list of faults: {e}") from e
    names = [m.name for m in mutations]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise Broken(f"names that stand twice: {', '.join(sorted(twice))}")
    return mutations


def choose(mutations: list[Mutation], names: list[str]) -> list[Mutation]:
    known = {m.name for m in mutations} | {m.group for m in mutations}
    unknown = [n for n in names if n not in known]
    if unknown:
        raise Broken(f"unknown: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    if not names:
        return mutations
    return list({m.name: m for n in names for m in mutations if n in (m.name, m.group)}.values())


def mutated(root: pathlib.Path, m: Mutation) -> str:
    """The text of the file with the fault in it."""
    advice = f"look at what became of it and mend {m.group}.toml"
    if not (root / m.file).is_file():
        raise Broken(f"{m.name}: there is no file {m.file}; {advice}")
    text = (root / m.file).read_text()
    count = text.count(m.old)
    if count != 1:
        raise Broken(f"{m.name}: the text to replace stands {count} times in {m.file}, not once; "
                     f"{advice}")
    return text.replace(m.old, m.new)


@functools.cache
def test_paths(folder: str) -> frozenset[tuple[str, ...]]:
    """The test cases of a program, as ("suite", "case") or ("case",); none where there is no
    such program."""
    paths = set()
    if not list((ROOT / "tests" / folder).glob("*_test.cc")):
        return frozenset()
    for path in (ROOT / "tests" / folder).glob("*.cc"):
        suites: list[str] = []
        for kind, name in TESTS.findall(path.read_text()):
            if kind == "CASE":
                paths.add((*suites, name))
            elif kind == "SUITE":
                suites.append(name)
            else:
                suites.pop()
    return frozenset(paths)


def check_suite(suite: str) -> None:
    """Throws where a suite names a program or tests that are not there. Boost.Test itself passes
    over a pattern without tests beside one that has some."""
    folder, *arguments = suite.split()
    paths = test_paths(folder)
    if not paths:
        raise Broken(f"'{suite}': there is no test program of tests/{folder}")
    if not arguments:
        return
    if len(arguments) != 2 or arguments[0] != "-t":
        raise Broken(f"'{suite}' is neither 'FOLDER' nor 'FOLDER -t TESTS'")
    chosen = {()}
    for depth, patterns in enumerate(arguments[1].split("/")):
        inside = [p[:depth + 1] for p in paths if p[:depth] in chosen and len(p) > depth]
        chosen = set()
        for pattern in patterns.split(","):
            matching = {p for p in inside if fnmatch.fnmatchcase(p[depth], pattern)}
            if not matching:
                raise Broken(f"'{suite}': nothing in tests/{folder} is named {pattern} there")
            chosen |= matching


def findings(mutations: list[Mutation]) -> list[str]:
    """Why faults can no longer be planted, or looked for."""
    found = []
    for m in mutations:
        try:
            mutated(ROOT, m)
        except Broken as e:
            found.append(str(e))
        for suite in m.suites:
            try:
                check_suite(suite)
            except Broken as e:
                found.append(f"{m.name}: {e}")
    return found


def synchronise(source: pathlib.Path, target: pathlib.Path) -> None:
    """Makes `target` hold what `source` holds; touches no file that is the same already."""
    kept = set()
    for folder, folders, files in os.walk(source):
        at = pathlib.Path(folder).relative_to(source)
        folders[:] = [
            f for f in folders
            if f not in (".git", "__pycache__") and not (at == pathlib.Path(".") and f.startswith("build"))
        ]
        for file in files:
            if at == pathlib.Path(".") and file.endswith(".weft"):
                continue
            kept.add(at / file)
            old, new = source / at / file, target / at / file
            if new.exists() and new.read_bytes() == old.read_bytes():
                continue
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(old, new)
            shutil.copymode(old, new)
    for folder, folders, files in os.walk(target):
        at = pathlib.Path(folder).relative_to(target)
        if at == pathlib.Path("."):
            folders[:] = [f for f in folders if f != "build"]
        for file in files:
            if at / file not in kept:
                (target / at / file).unlink()


class Tree:
    """The copy, with a build folder of its own."""

    def __init__(self, path: pathlib.Path, jobs: int, limit: float):
        self.path, self.jobs, self.limit = path, jobs, limit
        self.known: dict[str, list[str]] = {}

    def configure(self) -> None:
        build = self.path / "build"
        if not (build / "build.ninja").exists():
            self.call(["cmake", "-S", str(self.path), "-B", str(build), "-G", "Ninja",
                       "-DCMAKE_BUILD_TYPE=Release", "-DWEFT_TESTS=ON"])

    def call(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.path, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Broken(" ".join(command) + " failed:\n" + done.stdout[-4000:])

    def build(self, suite: str) -> None:
        self.call(["cmake", "--build", "build", "-j", str(self.jobs), "--target",
                   "test_" + suite.split()[0]])

    def run(self, suite: str) -> list[str]:
        """What failed: test cases, or how the program ended."""
        folder, *arguments = suite.split()
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        process = subprocess.Popen(
            [f"build/test_{folder}", *arguments], cwd=self.path, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            preexec_fn=limit)
        try:
            output, _ = process.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return [f"no end within {self.limit:.0f} s"]
        if process.returncode == 0:
            return []
        if "no test cases matching filter" in output or "Test setup error" in output:
            raise Broken(f"'{suite}' names no tests:\n{output[-2000:]}")
        failed = list(dict.fromkeys(re.findall(r'rror: in "([^"]+)"', output)))
        if process.returncode < 0:
            failed.append(signal.Signals(-process.returncode).name)
        return failed or [f"exit code {process.returncode}"]

    def fails_anyway(self, suite: str) -> list[str]:
        """What fails where nothing was planted: that catches nothing."""
        if suite not in self.known:
            self.build(suite)
            self.known[suite] = self.run(suite)
        return self.known[suite]


def try_suite(tree: Tree, m: Mutation, suite: str) -> list[str]:
    """What fails in the suite with the fault in place."""
    file = tree.path / m.file
    original = file.read_text()
    try:
        file.write_text(mutated(tree.path, m))
        tree.build(suite)
        return tree.run(suite)
    finally:
        file.write_text(original)


def plant(tree: Tree, m: Mutation) -> str:
    """What caught it, in words; empty where nothing did."""
    for suite in m.suites:
        failed = try_suite(tree, m, suite)
        if not failed:
            continue
        caught = [case for case in failed if case not in tree.fails_anyway(suite)]
        if caught:
            more = f" and {len(caught) - 4} more" if len(caught) > 4 else ""
            return f"{suite.split()[0]}: {', '.join(caught[:4])}{more}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true",
                        help="only look whether every fault can be planted, and list them")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build-mutations",
                        help="the copy (made, or brought up to date; default: build-mutations)")
    parser.add_argument("--in-place", action="store_true",
                        help="the tree that this script stands in is the copy")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds for one test program; no end counts as caught (default: 300)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()

    chosen = choose(read_mutations(), args.names)
    if stale := findings(chosen):
        raise Broken("\n".join(["the lists no longer fit the tree:", *stale]))
    if args.list:
        for m in chosen:
            print(f"{m.group:14} {m.name:34} {m.about}{' (after)' if m.after else ''}")
        print(f"{len(chosen)} faults can be planted")
        return 0
    if not args.in_place:
        args.tree.mkdir(exist_ok=True)
        synchronise(ROOT, args.tree)
    tree = Tree(ROOT if args.in_place else args.tree.resolve(), args.jobs, args.limit)
    tree.configure()
    missed, broken = [], []
    for m in chosen:
        begin = time.monotonic()
        try:
            found = plant(tree, m)
            verdict = f"caught by {found}" if found else f"MISSED by {', '.join(m.suites)}"
            if not found:
                missed.append(m.name)
        except Broken as e:
            verdict = f"BROKEN: {e}"
            broken.append(m.name)
        print(f"{m.name}: {m.about}\n  {verdict} ({time.monotonic() - begin:.0f} s)", flush=True)
    for suite, failed in tree.known.items():
        if failed:
            print(f"{suite} fails without any fault: {', '.join(failed)}")

    def caught(some: list[Mutation]) -> str:
        return f"{sum(m.name not in missed + broken for m in some)} of {len(some)} caught"

    print(f"mutations: {caught(chosen)}")
    if after := [m for m in chosen if m.after]:
        print(f"of those chosen after the tests: {caught(after)}")
    if missed:
        print(f"missed: {', '.join(missed)}")
    if broken:
        print(f"broken: {', '.join(broken)}")
    return 1 if missed or broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as e:
        print(f"mutations: {e}", file=sys.stderr)
        sys.exit(1)
