#!/usr/bin/env bash
# Checks that every symbol which a layer, the program or the zoo uses from another layer is exported (WEFT_API). Static libraries link
# without that, but shared libraries hide the other symbols.
#   check_exports.sh ARCHIVE...
set -euo pipefail
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
for archive in "$@"; do
  LC_ALL=C readelf -sW "$archive" | awk -v archive="$(basename "$archive")" \
    '($5 == "GLOBAL" || $5 == "WEAK") && NF == 8 { print $8, archive, $7 == "UND" ? "wanted" : $6 }' >>"$symbols"
done
grep -q ' HIDDEN$' "$symbols" || { echo "exports: no hidden symbols in $*: these are not libraries of Weft" >&2; exit 1; }
found=$(awk '
  $3 == "wanted" { wanted[$1, $2]; next }
  { defined[$1, $2] }
  $3 == "HIDDEN" { hidden[$1] = $2 }
  END {
    for (use in wanted) {
      split(use, at, SUBSEP)
      if (at[1] in hidden && !(use in defined)) print at[1], "of", hidden[at[1]], "is hidden, but", at[2], "uses it"
    }
  }' "$symbols")
if [ -n "$found" ]; then
  c++filt <<<"$found" | sort
  echo "exports: declare it in a 'namespace WEFT_API weft', or the class as WEFT_API (core/export.h)"
  exit 1
fi
