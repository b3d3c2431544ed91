#!/usr/bin/env bash
# Prints compile times in user seconds for weft/weft.h alone, each program in tests/consumer and each example. A time is the minimum of
# several compilations without optimisation, which does not affect the cost of headers.
#   tests/bench/includes.sh [BUILD FOLDER] [FILES...]
# Environment: RUNS, the number of compilations (3); CXX, the compiler; FLAGS, its options (-O0); LIMIT and UMBRELLA_LIMIT, the maximum
# seconds of a file and of weft/weft.h: the script fails if one is exceeded.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
shift || true
cxx=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include "weft/weft.h"' >"$work/umbrella.cc"
failed=0

# seconds FILE: the minimum user seconds of a compilation.
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

# show FILE NAME LIMIT: prints the time of a file.
show() {
  local s
  s=$(seconds "$1")
  printf '%6.2f s  %s\n' "$s" "$2"
  if [ -n "$3" ] && awk "BEGIN { exit !($s > $3) }"; then
    echo "includes: $2 takes $s s, the limit is $3 s" >&2
    failed=1
  fi
}

show "$work/umbrella.cc" "#include \"weft/weft.h\"" "${UMBRELLA_LIMIT:-}"
if [ $# -eq 0 ]; then set -- tests/consumer/*.cc tests/consumer/parts/*.cc tests/examples/*.cc; fi
for file in "$@"; do show "$file" "$file" "${LIMIT:-}"; done
exit $failed
