#!/usr/bin/env python3
"""Plants faults in a copy of the tree, one at a time, and reports which tests catch them.

usage: ./run check mutations [NAME...]        (or tests/mutations/plant.py [OPTIONS] [NAME...])

Every *.toml file next to this script is a list of faults. NAME is the name of a fault, or of such a
list without its extension. Faults are planted in the order of the names; without names, all faults
are planted.
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
# A fault may make a program allocate any amount of memory; the limit protects the machine.
MOST_MEMORY = 64 << 30
TESTS = re.compile(r"BOOST_(?:AUTO|FIXTURE)_TEST_(CASE|SUITE|SUITE_END)\(\s*(\w*)")


@dataclasses.dataclass
class Mutation:
    name: str
    about: str  # description of the wrong behaviour
    file: str
    old: str  # occurs exactly once in the file
    new: str
    suites: list[str]  # "ops -t attention*" runs tests/ops with -t attention*; likeliest first
    group: str
    after: bool = False  # true if the fault was chosen after the tests had been written


class Broken(Exception):
    """A fault cannot be planted or tested: the list of faults is invalid or out of date."""


def read_mutations() -> list[Mutation]:
    mutations = []
    for path in sorted(HERE.glob("*.toml")):
        try:
            for entry in tomllib.loads(path.read_text())["mutation"]:
                mutations.append(Mutation(**entry, group=path.stem))
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as e:
            raise Broken(f"{path.name} is not a valid list of faults: {e}") from e
    names = [m.name for m in mutations]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise Broken(f"duplicate fault names: {', '.join(sorted(twice))}")
    return mutations


def choose(mutations: list[Mutation], names: list[str]) -> list[Mutation]:
    known = {m.name for m in mutations} | {m.group for m in mutations}
    unknown = [n for n in names if n not in known]
    if unknown:
        raise Broken(f"unknown names: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    if not names:
        return mutations
    return list({m.name: m for n in names for m in mutations if n in (m.name, m.group)}.values())


def mutated(root: pathlib.Path, m: Mutation) -> str:
    """Returns the text of the file with the fault planted."""
    advice = f"find out how the code changed and update {m.group}.toml"
    if not (root / m.file).is_file():
        raise Broken(f"{m.name}: file {m.file} does not exist; {advice}")
    text = (root / m.file).read_text()
    count = text.count(m.old)
    if count != 1:
        raise Broken(f"{m.name}: the text to replace occurs {count} times in {m.file}, not once; "
                     f"{advice}")
    return text.replace(m.old, m.new)


@functools.cache
def test_paths(folder: str) -> frozenset[tuple[str, ...]]:
    """Returns the test cases of a program as ("suite", "case") or ("case",). The result is empty if
    the program does not exist."""
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
    """Raises Broken if a suite names a program or tests that do not exist. Boost.Test itself
    ignores a pattern without matches if another pattern has some."""
    folder, *arguments = suite.split()
    paths = test_paths(folder)
    if not paths:
        raise Broken(f"'{suite}': tests/{folder} has no test program")
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
                raise Broken(f"'{suite}': no test in tests/{folder} matches '{pattern}'")
            chosen |= matching


def findings(mutations: list[Mutation]) -> list[str]:
    """Returns the reasons why faults can no longer be planted or tested."""
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
    """Makes `target` a copy of `source`. Files with equal contents are not rewritten."""
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
    """A copy of the source tree with its own build folder."""

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
        """Runs a suite and returns the failed test cases, or how the program ended."""
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
            return [f"timeout after {self.limit:.0f} s"]
        if process.returncode == 0:
            return []
        if "no test cases matching filter" in output or "Test setup error" in output:
            raise Broken(f"'{suite}' selects no tests:\n{output[-2000:]}")
        failed = list(dict.fromkeys(re.findall(r'rror: in "([^"]+)"', output)))
        if process.returncode < 0:
            failed.append(signal.Signals(-process.returncode).name)
        return failed or [f"exit code {process.returncode}"]

    def fails_anyway(self, suite: str) -> list[str]:
        """Returns the tests that fail without any fault. These do not count as catching one."""
        if suite not in self.known:
            self.build(suite)
            self.known[suite] = self.run(suite)
        return self.known[suite]


def try_suite(tree: Tree, m: Mutation, suite: str) -> list[str]:
    """Returns the failures of the suite while the fault is planted."""
    file = tree.path / m.file
    original = file.read_text()
    try:
        file.write_text(mutated(tree.path, m))
        tree.build(suite)
        return tree.run(suite)
    finally:
        file.write_text(original)


def plant(tree: Tree, m: Mutation) -> str:
    """Plants a fault. Returns a description of the tests that caught it, or an empty string."""
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
                        help="only check that every fault can be planted, and list the faults")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build-mutations",
                        help="folder of the copy, created or updated (default: build-mutations)")
    parser.add_argument("--in-place", action="store_true",
                        help="plant the faults in the tree of this script instead of a copy")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds for a test program; a timeout counts as caught (default: 300)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()

    chosen = choose(read_mutations(), args.names)
    if stale := findings(chosen):
        raise Broken("\n".join(["the lists of faults are out of date:", *stale]))
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
            print(f"{suite} fails even without a fault: {', '.join(failed)}")

    def caught(some: list[Mutation]) -> str:
        return f"{sum(m.name not in missed + broken for m in some)} of {len(some)} caught"

    print(f"mutations: {caught(chosen)}")
    if after := [m for m in chosen if m.after]:
        print(f"of the faults chosen after the tests were written: {caught(after)}")
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
