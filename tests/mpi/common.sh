# shellcheck shell=bash disable=SC2034
# Functions that the scripts of this folder share. Source it with the arguments NAME WEFT LAUNCHER FIXTURES.
set -euo pipefail
name=$1 weft=$2 launcher=$3 fixtures=$4
work=$(mktemp -d)
# Scripts that need more cleaning up redefine it.
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

# launch_on RANKS: sets `launch`, the launcher's part of the command line. machines.sh redefines it.
launch_on() { launch=("$launcher" "${flags[@]}" -n "$1"); }
bound=60  # the time limit of a run in seconds
# ranks N ARGUMENTS...: runs weft on N ranks. Sets `code`; the output is in $work/out and $work/err.
ranks() {
  launch_on "$1"
  shift
  code=0
  timeout -k 5 "$bound" "${launch[@]}" "$weft" "$@" </dev/null >"$work/out" 2>"$work/err" || code=$?
}
# one ARGUMENTS...: runs weft as one process without a launcher; it must succeed.
one() { "$weft" "$@" </dev/null >"$work/out" 2>"$work/err" || fail "one process without a launcher failed: $*"; }
succeeds() { [ "$code" -eq 0 ] || fail "exit code $code"; }
# said PATTERN: the run failed with exactly one error message of Weft, which matches PATTERN. The launcher may print its own messages.
said() {
  [ "$code" -ne 0 ] || fail "did not fail"
  [ "$(grep -c '^weft: ' "$work/err")" -eq 1 ] || fail "did not print exactly one error message"
  grep -q -E "^weft: .*$1" "$work/err" || fail "the error message does not match: $1"
}
same() { cmp -s "$work/$1" "$work/$2" || fail "$1 and $2 differ"; }

# A training run of six steps that evaluates after step 3 and saves after steps 2 and 4.
tiny=(--layers 1 --heads 2 --width 16 --context 16 --text "$fixtures/weft_files/data/text.txt")
new=(train gpt "${tiny[@]}" --batch 8 --shards 8 --validation-fraction 0.1 --warmup 1 --seed 3
  --residual-dropout 0.1 --ema 0.9 --threads 1)
six=("${new[@]}" --steps 6 --eval-every 3 --save-every 2)
again=(train gpt --text "$fixtures/weft_files/data/text.txt" --threads 1)

# train_undisturbed: one process writes the reference files: alone.weft, best.weft, and the checkpoints of steps 2 and 4.
train_undisturbed() {
  local step
  for step in 2 4; do one "${six[@]}" --out "$work/at$step.weft" --best "$work/bestat$step.weft" --stop-after $step; done
  one "${six[@]}" --out "$work/alone.weft" --best "$work/best.weft"
}
# is_checkpoint FILE: the file equals a checkpoint of the undisturbed run.
is_checkpoint() {
  "$weft" verify "$work/$1" >/dev/null || fail "$1 is broken"
  cmp -s "$work/$1" "$work/at2.weft" || cmp -s "$work/$1" "$work/at4.weft" || cmp -s "$work/$1" "$work/alone.weft" ||
    fail "$1 differs from all checkpoints of the undisturbed run"
}
# finish_run RANKS FILE: training resumes from the checkpoint, or starts if there is none, and ends with the file of the undisturbed run.
finish_run() {
  if [ -e "$work/$2" ]; then
    ranks "$1" "${again[@]}" --resume "$work/$2" --best "$work/best-$2"
  else
    ranks "$1" "${six[@]}" --out "$work/$2" --best "$work/best-$2"
  fi
  succeeds
  same "$2" alone.weft
}

# rank_messages: prints the distinct error messages of the ranks.
rank_messages() { grep '^weft: ' "$work/err" | sort -u; }
# names_lost RANK PHASE: all ranks that print an error print the same one: the lost rank, its host, its phase and for how long. Launchers
# may kill the other ranks before they can print, and then print a message themselves: MPICH always, Open MPI before training begins.
names_lost() {
  local pattern="^weft: rank $1 \(host [^)]+\) is (lost|silent for [0-9.]+ s); it was in $2, which began [0-9.]+ s ago\$"
  if [ -z "$(rank_messages)" ]; then
    if [ $open_mpi = no ]; then
      grep -q -E "KILLED BY SIGNAL|EXIT CODE: 9" "$work/out" "$work/err" || fail "no message gives the reason"
    elif ! grep -q "^training " "$work/out"; then
      grep -q "process rank $1 .* exited on signal 9" "$work/err" || fail "no message gives the reason"
    else
      fail "no rank gives the reason"
    fi
    return
  fi
  [ "$(rank_messages | wc -l)" -eq 1 ] || fail "the ranks did not print the same message"
  rank_messages | grep -q -E "$pattern" || fail "the message does not match: $pattern"
}
# check_all_ended: the launcher and the ranks that work on files of this script have ended. (Launcher daemons on unreachable machines end
# when TCP times out.)
check_all_ended() {
  local _
  for _ in $(seq 50); do
    pgrep -f "$weft.*$work" >/dev/null || return 0
    sleep 0.1
  done
  pgrep -af "$weft.*$work" >&2
  fail "processes are left"
}
