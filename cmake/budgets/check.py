#!/usr/bin/env python3
"""Prints the budgets of the project beside their targets (targets.txt), and fails if a target that has been reached is exceeded by more
than 10%.

  cmake/budgets/check.py [BUILD FOLDER]

Without a build folder, only the sources are counted. The build folder must have been built with compile_time.py as the compiler launcher
(./run check budgets).
"""

import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LAYERS = ("core", "ops", "graph", "autodiff", "serialization", "models")
TOLERANCE = 1.1


def targets():
    """The rows of targets.txt: {name: (target, unit, reached)}."""
    rows = {}
    for line in (HERE / "targets.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, target, unit, reached, _ = line.split(maxsplit=4)
            rows[name] = (float(target), unit, reached == "yes")
    return rows


def source_files():
    """All files of the project below folders, without fixtures and files that git ignores."""
    skipped = re.compile(r"/fixtures(/|$)|/__pycache__(/|$)|^(\.git|\.cache|build[^/]*)(/|$)")
    for folder, folders, files in os.walk(ROOT):
        path = pathlib.Path(folder).relative_to(ROOT)
        folders[:] = [f for f in folders if not skipped.search((path / f).as_posix()) and not skipped.search("/" + f)]
        yield from (path / file for file in files)


def folders():
    """Folders with their numbers of files, the largest first."""
    return collections.Counter(file.parent.as_posix() for file in source_files()).most_common()


def production_lines():
    """Lines of C++ and Protobuf below the layers that are neither blank nor comments (// at the beginning of the line)."""
    count = 0
    for file in source_files():
        if file.suffix in (".h", ".cc", ".proto") and file.parts[0] in LAYERS:
            lines = (line.strip() for line in (ROOT / file).read_text().splitlines())
            count += sum(bool(line) and not line.startswith("//") for line in lines)
    return count


def promised_headers():
    """Headers that programs may include, without the parts that these include (cmake/public_headers.txt)."""
    text = (ROOT / "cmake/public_headers.txt").read_text().partition("\n== Installed, not promised")[0]
    return len(re.findall(r"^[a-z]", text, re.M))


def library_size(build):
    """Megabytes of all layers in one stripped shared object."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/libweft.so"
        archives = [f"{build}/libweft_{layer}.a" for layer in LAYERS]
        subprocess.run([compiler(build), "-shared", "-Wl,--gc-sections", "-Wl,--whole-archive", *archives,
                        "-Wl,--no-whole-archive", "-o", library], check=True)
        subprocess.run(["strip", library], check=True)
        return pathlib.Path(library).stat().st_size / 1e6


def compiler(build):
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]


def objects_of(build, target):
    """The objects that Ninja compiles for a target."""
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"compile_time\.py .* -o (\S+)", commands))


def compile_seconds(build):
    """The CPU seconds of compiling the program weft, the other objects of the build, and the reference source (the median)."""
    times, reference = {}, []
    log = build / "compile_times.txt"
    for line in log.read_text().splitlines() if log.exists() else ():
        seconds, name = line.split(maxsplit=1)
        if name == "reference":
            reference.append(float(seconds))
        times[name] = float(seconds)  # the last time counts
    demo = objects_of(build, "weft")
    everything = objects_of(build, "all")
    missing = sorted(everything - times.keys())
    if not reference:
        sys.exit(f"budgets: {log} has no line \"reference\": build from nothing with cmake/budgets/compile_time.py as the launcher")
    if missing or not demo:
        sys.exit(f"budgets: {log} lacks {len(missing)} of {len(everything)} objects, such as "
                 f"{missing[0] if missing else 'those of weft'}: build it from nothing with cmake/budgets/compile_time.py as the launcher")
    return sum(times[name] for name in demo), sum(times[name] for name in everything - demo), statistics.median(reference)


def main():
    rows = targets()
    largest = folders()
    values = {"largest_folder": largest[0][1], "promised_headers": promised_headers(), "production_lines": production_lines()}
    notes = {"largest_folder": ", ".join(f"{folder} {count}" for folder, count in largest[:3])}
    if len(sys.argv) > 1:
        build = pathlib.Path(sys.argv[1]).resolve()
        demo, tests, reference = compile_seconds(build)
        for name, seconds in (("demo_compile", demo), ("tests_compile", tests), ("total_compile", demo + tests)):
            values[name] = seconds * rows["reference_compile"][0] / reference
            notes[name] = f"{seconds:.0f} s on this machine, {seconds / reference:.0f} times the reference source ({reference:.2f} s)"
        values["library_size"] = library_size(build)
    failed = False
    print(f"{'budget':18}{'value':>10}{'target':>10}  unit   verdict")
    for name, (target, unit, reached) in rows.items():
        if name not in values:
            continue
        value = values[name]
        exceeded = reached and value > target * TOLERANCE
        failed = failed or exceeded
        if value <= target:
            verdict = "ok" if reached else "reached: write 'yes' into targets.txt"
        elif reached:
            verdict = "EXCEEDED by more than 10%" if exceeded else "within 10%"
        else:
            verdict = "not reached yet"
        digits = 0 if unit in ("files", "lines") else 1
        print(f"{name:18}{value:10.{digits}f}{target:10.{digits}f}  {unit:6} {verdict}"
              + (f"; {notes[name]}" if name in notes else ""))
    if failed:
        sys.exit("budgets: reduce the exceeded values, or raise their targets in cmake/budgets/targets.txt with the reason")


main()
