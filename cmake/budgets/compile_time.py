#!/usr/bin/env python3
"""A compiler launcher (CMAKE_CXX_COMPILER_LAUNCHER) that appends the CPU seconds of a command and the object that it writes to
compile_times.txt in the current folder, which is the build folder if Ninja starts it.

  compile_time.py COMPILER ARGUMENTS...

After every 16th object, it also compiles reference.cc and appends a line with the name "reference". The speed of a shared machine changes
within minutes, so compile times are compared with a source that was compiled at the same time.
"""

import os
import pathlib
import sys
import tempfile

LOG = "compile_times.txt"
REFERENCE = pathlib.Path(__file__).resolve().parent / "reference.cc"


def run(command, name):
    """Runs a compiler and logs its CPU seconds. Returns its exit code."""
    _, status, usage = os.wait4(os.spawnvp(os.P_NOWAIT, command[0], command), 0)
    if status == 0 and name:
        with open(LOG, "a") as log:  # one short write: lines of parallel compilers do not mix
            log.write(f"{usage.ru_utime + usage.ru_stime:.2f} {name}\n")
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


def main():
    command = sys.argv[1:]
    name = command[command.index("-o") + 1] if "-o" in command else ""
    code = run(command, name)
    if code == 0 and name and sum(1 for _ in open(LOG)) % 16 == 1:
        with tempfile.TemporaryDirectory() as folder:
            run([command[0], "-std=c++20", "-O2", "-c", str(REFERENCE), "-o", f"{folder}/reference.o"], "reference")
    sys.exit(code)


main()
