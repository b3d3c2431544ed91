#!/usr/bin/env python3
"""A compiler launcher (CMAKE_CXX_COMPILER_LAUNCHER) that appends the CPU seconds of a command and the object that it writes to
compile_times.txt in the current folder, which is the build folder if Ninja starts it.

  compile_time.py COMPILER ARGUMENTS...
"""

import os
import sys

command = sys.argv[1:]
_, status, usage = os.wait4(os.spawnvp(os.P_NOWAIT, command[0], command), 0)
if status == 0 and "-o" in command:
    with open("compile_times.txt", "a") as log:  # one short write: lines of parallel compilers do not mix
        log.write(f"{usage.ru_utime + usage.ru_stime:.2f} {command[command.index('-o') + 1]}\n")
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
