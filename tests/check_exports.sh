#!/usr/bin/env bash
# What a layer, the program or the zoo uses of another layer is exported (WEFT_API): otherwise they link with static
# libraries alone, since shared ones hide the rest.
#   check_exports.sh LAYER.a... -- USER.a...
set -euo pipefail
export LC_ALL=C
layers=()
while [ "$1" != -- ]; do
  layers+=("$1")
  shift
done
shift
# symbols CONDITION ARCHIVE...: "name archive" of those whose bind, visibility and section meet it.
symbols() {
  local condition=$1 archive
  shift
  for archive in "$@"; do
    readelf -sW "$archive" 2>/dev/null |
      awk -v archive="$(basename "$archive")" -v OFS=' ' \
        "{ bind = \$5; visibility = \$6; section = \$7 } $condition { print \$8, archive }"
  done | sort -u
}
hidden=$(symbols 'bind != "LOCAL" && visibility == "HIDDEN" && section != "UND"' "${layers[@]}")
wanted=$(symbols 'bind == "GLOBAL" && section == "UND"' "${layers[@]}" "$@")
[ -n "$hidden" ] && [ -n "$wanted" ] || { echo "exports: these are no archives of ELF objects: ${layers[*]}" >&2; exit 1; }
found=$(join <(echo "$hidden") <(echo "$wanted") | awk '$2 != $3 { print $1, "of", $2, "is hidden, but", $3, "uses it" }')
if [ -n "$found" ]; then
  echo "$found" | c++filt
  echo "exports: declare it in a 'namespace WEFT_API weft', or the class as WEFT_API (core/export.h)"
  exit 1
fi
