#!/usr/bin/env bash
# Prints what it costs a user to compile: user seconds of weft/weft.h alone, of each program in tests/consumer and of each example,
# the least of some runs, without optimising (what headers cost does not depend on it).
#   tests/bench/includes.sh [BUILD FOLDER] [FILES...]
# RUNS (3) is how often each is compiled, CXX the compiler, FLAGS (-O0) what else it gets. With LIMIT it fails where a file takes
# more seconds, and with UMBRELLA_LIMIT where the header alone does.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
shift || true
cxx=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include "weft/weft.h"' >"$work/umbrella.cc"
failed=0

# seconds FILE: the least user seconds of a compilation.
seconds() {
  local least="" now
  for ((i = 0; i < ${RUNS:-3}; ++i)); do
    TIMEFORMAT=%U
    # shellcheck disable=SC2086
    now=$({ time "$cxx" -std=c++20 ${FLAGS:--O0} -DBOOST_TEST_DYN_LINK -I"$build/include" -I"$build/testing_include" \
      -I"$build/weft_include" -c "$1" -o "$work/object.o" 1>&3 2>&4; } 3>&1 4>&2 2>&1)
    if [ -z "$least" ] || awk "BEGIN { exit !($now < $least) }"; then least=$now; fi
  done
  echo "$least"
}

# show FILE NAME LIMIT
show() {
  local s
  s=$(seconds "$1")
  printf '%6.2f s  %s\n' "$s" "$2"
  if [ -n "$3" ] && awk "BEGIN { exit !($s > $3) }"; then
    echo "includes: $2 takes $s s, more than $3" >&2
    failed=1
  fi
}

show "$work/umbrella.cc" "#include \"weft/weft.h\"" "${UMBRELLA_LIMIT:-}"
if [ $# -eq 0 ]; then set -- tests/consumer/*.cc tests/consumer/parts/*.cc tests/examples/*.cc; fi
for file in "$@"; do show "$file" "$file" "${LIMIT:-}"; done
exit $failed
