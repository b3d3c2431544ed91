#!/usr/bin/env bash
# Injects a fault into one of three ranks, in any phase of any step or save: the rank is killed, stopped for good or for a moment, or its
# disk is full or fails. All ranks must end soon with one message that names the fault, the last checkpoint must be valid, and two ranks
# must resume from it and write the file of an undisturbed run, bit for bit.
#   faults.sh WEFT_WITH_FAULTS LAUNCHER FIXTURES SECONDS SEED [SHIM]
# Faults are drawn with SEED until SECONDS have passed. SHIM is libweft_faults.so, for disk faults.
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/common.sh" faults "$1" "$2" "$3"
seconds=$4 seed=$5 shim=${6:-}
RANDOM=$seed
export WEFT_SILENCE=2s
# The seconds within which ranks must end after a fault: the heartbeat timeout, the rest of a step, and the second that the launcher takes
# to end the others; the machine may be busy.
time_limit=20

# now: prints the time in milliseconds.
now() { date +%s%3N; }
# Random choices are returned in REPLY, because RANDOM is not seeded in subshells. below N: a number below N. draw WORDS...: a word.
below() { REPLY=$(((RANDOM * 32768 + RANDOM) % $1)); }
draw() {
  below $#
  shift "$REPLY"
  REPLY=$1
}

train_undisturbed

# phases: writes $work/phases, the phases of each rank and its transport calls in them, as "RANK|CALLS|PHASE"; prints the kinds of phases.
phases() {
  WEFT_RANK_FAULT="-1||0|calls" ranks 3 "${six[@]}" --out "$work/m.weft" --best "$work/best-m.weft"
  succeeds
  same m.weft alone.weft
  grep -E '^[0-9]+\|[0-9]+\|' "$work/err" | LC_ALL=C sort -u >"$work/phases"
  # The kinds: phases without the numbers of steps and shards.
  sed -E 's/^[0-9]+\|[0-9]+\|//; s/[0-9]+/N/g' "$work/phases" | LC_ALL=C sort -u
}
mapfile -t kinds < <(phases)
[ "${#kinds[@]}" -ge 8 ] || fail "too few kinds of phases: ${kinds[*]}"

# disturbed ARGUMENTS...: runs three ranks with `environment` until they end, and checks that their files are valid. Sets `code`, and
# `took`, the milliseconds since the fault.
longest=0
disturbed() {
  rm -f "$work/happened"
  bound=$((time_limit + 60))
  local arguments=("$@")
  launch_on 3
  code=0
  timeout -k 5 "$bound" "${launch[@]}" env "${environment[@]}" "$weft" "${arguments[@]}" </dev/null >"$work/out" 2>"$work/err" ||
    code=$?
  took=0
  if [ -e "$work/happened" ]; then
    took=$(($(now) - $(date -r "$work/happened" +%s%3N)))
    [ $took -le $((1000 * time_limit)) ] || fail "$what: the ranks ended only after $took ms"
    [ $took -le $longest ] || longest=$took
  fi
  check_all_ended
  local file
  for file in "$work"/m.weft "$work"/best-m.weft; do
    [ ! -e "$file" ] || "$weft" verify "$file" >/dev/null || fail "$what: $file is broken"
  done
}

# disturb_rank KIND WHAT: kills, stops or pauses a rank in a phase of this kind.
disturb_rank() {
  local kind=$1 what=$2 places rank calls phase command
  mapfile -t places < <(grep -E "^[0-9]+\|[0-9]+\|${kind//N/[0-9]+}\$" "$work/phases")
  draw "${places[@]}"
  IFS='|' read -r rank calls phase <<<"$REPLY"
  below $((calls + 1))
  calls=$REPLY
  case $what in
    kill) command='kill -KILL $PPID' ;;
    stop) command='kill -STOP $PPID' ;;
    pause) command='(sleep 0.7; kill -CONT $PPID) & kill -STOP $PPID' ;;
  esac
  what="$what of rank $rank at call $calls of '$phase'"
  [ -z "${verbose:-}" ] || echo "$what"
  rm -f "$work"/m.* "$work"/best-m.*
  environment=("WEFT_RANK_FAULT=$rank|$phase|$calls|touch $work/happened; $command")
  disturbed "${six[@]}" --out "$work/m.weft" --best "$work/best-m.weft"
  [ -e "$work/happened" ] || fail "$what: the fault did not occur"
  case $command in
    *CONT*)
      succeeds
      same m.weft alone.weft
      return
      ;;
  esac
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "$what: exit code $code"
  names_lost "$rank" "$phase"
  [ ! -e "$work/m.weft" ] || is_checkpoint m.weft
  finish_run 2 m.weft
}

# continue_late: a rank is stopped and continued after the others have ended, without a notice from the launcher; it must end as well.
continue_late() {
  local phase="step 3: the end of the step" launcher_flags=("${flags[@]}") launched ranks=() i
  what="a rank continues late"
  [ -z "${verbose:-}" ] || echo "$what"
  rm -f "$work"/m.* "$work"/best-m.*
  flags+=(--mca orte_abort_on_non_zero_status 0 --mca orte_allowed_exit_without_sync 1)
  launch_on 3
  flags=("${launcher_flags[@]}")
  WEFT_RANK_FAULT="1|$phase|2|kill -STOP \$PPID" timeout -k 5 60 "${launch[@]}" "$weft" "${six[@]}" --out "$work/m.weft" \
    </dev/null >"$work/out" 2>"$work/err" &
  launched=$!
  for ((i = 0; i < 10 * time_limit; ++i)); do
    sleep 0.1
    mapfile -t ranks < <(pgrep -f "^$weft .*$work/m.weft")
    [ ${#ranks[@]} -eq 1 ] && grep -q "^State:.*stopped" "/proc/${ranks[0]}/status" && break
  done
  [ ${#ranks[@]} -eq 1 ] || fail "$what: the other ranks do not end"
  kill -CONT "${ranks[0]}"
  for ((i = 0; i < 10 * time_limit; ++i)); do
    sleep 0.1
    kill -0 "${ranks[0]}" 2>/dev/null || break
  done
  ! kill -0 "${ranks[0]}" 2>/dev/null || fail "$what: the rank does not end"
  wait "$launched" || true
  names_lost 1 "$phase"
  check_all_ended
  is_checkpoint m.weft
}

# disturb_disk: a call of the C library fails while rank 0 writes a file, or the rank is killed or stopped in the call.
disturb_disk() {
  local call error number
  draw write write fsync rename open close
  call=$REPLY
  draw 28 28 5 kill stop
  error=$REPLY
  below "$([ "$call" = write ] && echo 40 || echo 4)"
  number=$REPLY
  what="$call number $number with fault $error"
  [ -z "${verbose:-}" ] || echo "$what"
  rm -f "$work"/m.* "$work"/best-m.*
  cp "$work/at2.weft" "$work/m.weft"
  environment=("LD_PRELOAD=$shim" "WEFT_FAULT=$call:$number+:$error" "WEFT_FAULT_PATH=$work/" "WEFT_FAULT_FIRED=$work/happened")
  disturbed "${again[@]}" --resume "$work/m.weft" --best "$work/best-m.weft"
  # The contents of a file are on disk before it is closed.
  if [ ! -e "$work/happened" ] || { [ "$call" = close ] && [ "$code" -eq 0 ]; }; then
    succeeds
    same m.weft alone.weft
    return
  fi
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "$what: exit code $code"
  case $error in
    28) [ -n "$(rank_messages)" ] && ! rank_messages | grep -v -q "No space left on device" || fail "$what: no message names the error" ;;
    5) [ -n "$(rank_messages)" ] && ! rank_messages | grep -v -q "Input/output error" || fail "$what: no message names the error" ;;
    # The other ranks may not know the phase that the rank has just begun.
    *) names_lost 0 "(step [3-6]: [a-z0-9 ]+|the start|the start of training|the end of training)" ;;
  esac
  finish_run 2 m.weft
}

# A fault after all work is done.
disturb_rank "the end of training" kill

# All kinds of phases with all faults, in random order.
all=()
for kind in "${kinds[@]}"; do
  for what in kill stop; do all+=("$what $kind"); done
  [ -z "$shim" ] || all+=(disk)
done
[ $open_mpi = no ] || all+=(late)
all+=("pause step N: shard N of N" "pause step N: saving" "pause step N: the exchange of parameters")
met=1
end=$(($(now) + 1000 * seconds))
while [ "$(now)" -lt $end ]; do
  for ((i = ${#all[@]}; i > 0; --i)); do
    [ "$(now)" -lt $end ] || break
    # The cases before i are still to do in this round.
    below "$i"
    it=${all[REPLY]}
    all[REPLY]=${all[i - 1]}
    all[i - 1]=$it
    met=$((met + 1))
    case $it in
      disk) disturb_disk ;;
      late) continue_late ;;
      *) disturb_rank "${it#* }" "${it%% *}" ;;
    esac
  done
done
echo "faults: all ranks ended as expected in $met cases with seed $seed, within $((longest / 1000)).$((longest % 1000 / 100)) s"
