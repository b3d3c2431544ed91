# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share. To be sourced, with NAME WEFT LAUNCHER FIXTURES.
set -euo pipefail
name=$1 weft=$2 launcher=$3 fixtures=$4
work=$(mktemp -d)
# Scripts with more to clean up say it again.
clean_up() { :; }
trap 'clean_up; rm -rf "$work"' EXIT
open_mpi=no flags=()
if "$launcher" --version 2>&1 | grep -q -E "Open MPI|OpenRTE"; then
  # More ranks than cores; tests may run as root in containers.
  open_mpi=yes flags=(--oversubscribe --allow-run-as-root)
fi

fail() {
  echo "$name: $*" >&2
  cat "$work/out" "$work/err" >&2 || true
  exit 1
}

# launch_on RANKS: sets `launch`, the command before the program. Scripts with machines of their own say it again.
launch_on() { launch=("$launcher" "${flags[@]}" -n "$1"); }
bound=60  # seconds that ranks may take
# ranks N ARGUMENTS...: sets `code`; what was printed is in $work/out and $work/err.
ranks() {
  launch_on "$1"
  shift
  code=0
  timeout -k 5 "$bound" "${launch[@]}" "$weft" "$@" </dev/null >"$work/out" 2>"$work/err" || code=$?
}
# one ARGUMENTS...: the same of one process without a launcher, which succeeds.
one() { "$weft" "$@" </dev/null >"$work/out" 2>"$work/err" || fail "one process without a launcher does not: $*"; }
succeeds() { [ "$code" -eq 0 ] || fail "exit code $code"; }
# said PATTERN: one line of ours says it, and there is no other one. The launcher has lines of its own.
said() {
  [ "$code" -ne 0 ] || fail "did not fail"
  [ "$(grep -c '^weft: ' "$work/err")" -eq 1 ] || fail "not one line"
  grep -q -E "^weft: .*$1" "$work/err" || fail "does not say: $1"
}
same() { cmp -s "$work/$1" "$work/$2" || fail "$1 and $2 differ"; }

# A training of six steps that evaluates after three and saves after two and four.
tiny=(--layers 1 --heads 2 --width 16 --context 16 --text "$fixtures/weft_files/data/text.txt")
new=(train gpt "${tiny[@]}" --batch 8 --shards 8 --validation-fraction 0.1 --warmup 1 --seed 3
  --residual-dropout 0.1 --ema 0.9 --threads 1)
six=("${new[@]}" --steps 6 --eval-every 3 --save-every 2)
again=(train gpt --text "$fixtures/weft_files/data/text.txt" --threads 1)

# train_undisturbed: one process writes what all others are compared with: alone.weft, and what it is at steps 2 and 4.
train_undisturbed() {
  local step
  for step in 2 4; do one "${six[@]}" --out "$work/at$step.weft" --best "$work/bestat$step.weft" --stop-after $step; done
  one "${six[@]}" --out "$work/alone.weft" --best "$work/best.weft"
}
# is_checkpoint FILE: it is one that the undisturbed training had, too.
is_checkpoint() {
  "$weft" verify "$work/$1" >/dev/null || fail "$1 is broken"
  cmp -s "$work/$1" "$work/at2.weft" || cmp -s "$work/$1" "$work/at4.weft" || cmp -s "$work/$1" "$work/alone.weft" ||
    fail "$1 is none of the undisturbed checkpoints"
}
# goes_on RANKS FILE: from its checkpoint, or from the start where there is none, to the end of the undisturbed training.
goes_on() {
  if [ -e "$work/$2" ]; then
    ranks "$1" "${again[@]}" --resume "$work/$2" --best "$work/best-$2"
  else
    ranks "$1" "${six[@]}" --out "$work/$2" --best "$work/best-$2"
  fi
  succeeds
  same "$2" alone.weft
}

# ours: the lines of ranks, each once.
ours() { grep '^weft: ' "$work/err" | sort -u; }
# names_lost RANK PHASE: all ranks that say something say the same: who, where, in what, since when. Launchers kill the others
# before they can, and say it themselves: MPICH's always, Open MPI's before a training begins.
names_lost() {
  local pattern="^weft: rank $1 \(host [^)]+\) is (lost|silent for [0-9.]+ s); it was in $2, which began [0-9.]+ s ago\$"
  if [ -z "$(ours)" ]; then
    if [ $open_mpi = no ]; then
      grep -q -E "KILLED BY SIGNAL|EXIT CODE: 9" "$work/out" "$work/err" || fail "nobody says why it ends"
    elif ! grep -q "^training " "$work/out"; then
      grep -q "process rank $1 .* exited on signal 9" "$work/err" || fail "nobody says why it ends"
    else
      fail "no rank says why it ends"
    fi
    return
  fi
  [ "$(ours | wc -l)" -eq 1 ] || fail "not one line of all ranks"
  ours | grep -q -E "$pattern" || fail "does not say: $pattern"
}
# nobody_is_left: of the launcher and the ranks that work on files of this script. Launchers' daemons on machines that cannot
# be reached end when TCP gives up.
nobody_is_left() {
  local _
  for _ in $(seq 50); do
    pgrep -f "$weft.*$work" >/dev/null || return 0
    sleep 0.1
  done
  pgrep -af "$weft.*$work" >&2
  fail "processes are left"
}
