#!/usr/bin/env bash
# Prints the sizes of a build with static libraries: of a stripped program with one matrix product, by layer and object, and of the whole
# library as one stripped shared object.
#   tests/bench/size.sh [BUILD FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cxx=${CXX:-g++}
bytes() { printf '%8.2f MB  %s\n' "$(stat -c %s "$1" | awk '{print $1 / 1e6}')" "$2"; }

layers() { for layer in "$@"; do printf '%s ' "$build/libweft_$layer.a"; done; }
program() {
  "$cxx" -std=c++20 -O2 -I"$build/include" -c -x c++ - -o "$work/program.o"
  # shellcheck disable=SC2046
  "$cxx" "$work/program.o" $(layers graph ops core) -lhwy -ltbb -lfmt -Wl,--gc-sections -Wl,-Map="$work/map" \
    -o "$work/program"
  strip "$work/program"
  "$work/program" >/dev/null
  bytes "$work/program" "$1 (stripped; fmt, TBB and the C++ library are shared)"
}
sed 's/Graph g(.*);/Graph g;/' tests/consumer/parts/product.cc | program "a program with one matrix product and all operations"
program "a program with one matrix product and the operations that it needs" <tests/consumer/parts/product.cc

if [ -f "$build/libweft_models.a" ]; then
  # shellcheck disable=SC2046
  "$cxx" -shared -Wl,--whole-archive $(layers core ops graph autodiff serialization models) -Wl,--no-whole-archive \
    -Wl,--gc-sections -lhwy -ltbb -lfmt -lprotobuf -lz -licuuc -lpcre2-8 -lzstd -lsndfile -lzip -o "$work/libweft.so"
  strip "$work/libweft.so"
  bytes "$work/libweft.so" "the whole library in one shared object (stripped)"
  [ -x "$build/weft" ] && strip -o "$work/weft" "$build/weft" && bytes "$work/weft" "the program weft (stripped)"
fi

python3 - "$work/map" <<'PYTHON'
"""Sums up the sizes in a map file of the GNU linker by layer and by object."""
import collections
import re
import sys

layers, objects = collections.Counter(), collections.Counter()
text = open(sys.argv[1]).read()
text = text[text.index("Linker script and memory map"):]
for address, size, layer, member in re.findall(
    r"0x([0-9a-f]+) +0x([0-9a-f]+) \S*libweft_([a-z]+)\.a\((\S+)\)", text):
  if int(address, 16) == 0:  # dropped sections and debug information
    continue
  layers[layer] += int(size, 16)
  objects[f"{layer} {member}"] += int(size, 16)
print("Sizes in the last program in KB, by layer, and of its largest objects:")
for name, size in layers.most_common() + objects.most_common(12):
  print(f"{size / 1e3:8.0f}  {name}")
PYTHON
