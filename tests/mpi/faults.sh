#!/usr/bin/env bash
# Something happens to one of three ranks, in any phase of any step or save: it is killed, stops for good or for a while, its disk is
# full or fails. All ranks end soon, with one line that names what happened; the last checkpoint is whole; two ranks go on
# from it and end with the bits of a run that nobody disturbed.
#   faults.sh WEFT_WITH_FAULTS LAUNCHER FIXTURES SECONDS SEED [SHIM]
# What happens is drawn by SEED until SECONDS are over. SHIM: libweft_faults.so, for disks.
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/common.sh" faults "$1" "$2" "$3"
seconds=$4 seed=$5 shim=${6:-}
RANDOM=$seed
export WEFT_SILENCE=2s
# From the moment in which something happens: the silence, what is left of a step, and the launcher's second for those it
# ends; the machine may be busy.
most=20

# now: in milliseconds.
now() { date +%s%3N; }
# What is drawn is in REPLY: in a subshell, seeds do not count. below N: a number below N. draw WORDS...: one of them.
below() { REPLY=$(((RANDOM * 32768 + RANDOM) % $1)); }
draw() {
  below $#
  shift "$REPLY"
  REPLY=$1
}

train_undisturbed

# Phases, and how often each rank calls the transport in them, as "RANK|CALLS|PHASE".
phases() {
  WEFT_RANK_FAULT="-1||0|calls" ranks 3 "${six[@]}" --out "$work/m.weft" --best "$work/best-m.weft"
  succeeds
  same m.weft alone.weft
  grep -E '^[0-9]+\|[0-9]+\|' "$work/err" | LC_ALL=C sort -u >"$work/phases"
  # What phases are called, whatever the step and shard.
  sed -E 's/^[0-9]+\|[0-9]+\|//; s/[0-9]+/N/g' "$work/phases" | LC_ALL=C sort -u
}
mapfile -t kinds < <(phases)
[ "${#kinds[@]}" -ge 8 ] || fail "ranks went through few phases: ${kinds[*]}"

# disturbed ARGUMENTS...: three ranks with `environment`, until they end. They leave whole files. Sets `code`, and `took` in ms
# since it happened.
longest=0
disturbed() {
  rm -f "$work/happened"
  bound=$((most + 60))
  local arguments=("$@")
  launch_on 3
  code=0
  timeout -k 5 "$bound" "${launch[@]}" env "${environment[@]}" "$weft" "${arguments[@]}" </dev/null >"$work/out" 2>"$work/err" ||
    code=$?
  took=0
  if [ -e "$work/happened" ]; then
    took=$(($(now) - $(date -r "$work/happened" +%s%3N)))
    [ $took -le $((1000 * most)) ] || fail "$what: the ranks took $took ms to end"
    [ $took -le $longest ] || longest=$took
  fi
  nobody_is_left
  local file
  for file in "$work"/m.weft "$work"/best-m.weft; do
    [ ! -e "$file" ] || "$weft" verify "$file" >/dev/null || fail "$what: $file is broken"
  done
}

# A rank is killed, stopped or stops for a while in a phase.
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
  [ -e "$work/happened" ] || fail "$what: did not happen"
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
  goes_on 2 m.weft
}

# A rank stops, and goes on when the others have ended, of which the launcher tells it nothing: it ends, too.
continue_late() {
  local phase="step 3: the end of the step" launcher_flags=("${flags[@]}") launched ranks=() i
  what="a rank goes on late"
  [ -z "${verbose:-}" ] || echo "$what"
  rm -f "$work"/m.* "$work"/best-m.*
  flags+=(--mca orte_abort_on_non_zero_status 0 --mca orte_allowed_exit_without_sync 1)
  launch_on 3
  flags=("${launcher_flags[@]}")
  WEFT_RANK_FAULT="1|$phase|2|kill -STOP \$PPID" timeout -k 5 60 "${launch[@]}" "$weft" "${six[@]}" --out "$work/m.weft" \
    </dev/null >"$work/out" 2>"$work/err" &
  launched=$!
  for ((i = 0; i < 10 * most; ++i)); do
    sleep 0.1
    mapfile -t ranks < <(pgrep -f "^$weft .*$work/m.weft")
    [ ${#ranks[@]} -eq 1 ] && grep -q "^State:.*stopped" "/proc/${ranks[0]}/status" && break
  done
  [ ${#ranks[@]} -eq 1 ] || fail "$what: the others do not end"
  kill -CONT "${ranks[0]}"
  for ((i = 0; i < 10 * most; ++i)); do
    sleep 0.1
    kill -0 "${ranks[0]}" 2>/dev/null || break
  done
  ! kill -0 "${ranks[0]}" 2>/dev/null || fail "$what: it does not end"
  wait "$launched" || true
  names_lost 1 "$phase"
  nobody_is_left
  is_checkpoint m.weft
}

# A call of the C library fails while rank 0 writes, or that rank is killed or stops in it.
disturb_disk() {
  local call error number
  draw write write fsync rename open close
  call=$REPLY
  draw 28 28 5 kill stop
  error=$REPLY
  below "$([ "$call" = write ] && echo 40 || echo 4)"
  number=$REPLY
  what="$call number $number meets $error"
  [ -z "${verbose:-}" ] || echo "$what"
  rm -f "$work"/m.* "$work"/best-m.*
  cp "$work/at2.weft" "$work/m.weft"
  environment=("LD_PRELOAD=$shim" "WEFT_FAULT=$call:$number+:$error" "WEFT_FAULT_PATH=$work/" "WEFT_FAULT_FIRED=$work/happened")
  disturbed "${again[@]}" --resume "$work/m.weft" --best "$work/best-m.weft"
  # What a file holds is safe before it is closed.
  if [ ! -e "$work/happened" ] || { [ "$call" = close ] && [ "$code" -eq 0 ]; }; then
    succeeds
    same m.weft alone.weft
    return
  fi
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "$what: exit code $code"
  case $error in
    28) [ -n "$(ours)" ] && ! ours | grep -v -q "No space left on device" || fail "$what: is not said" ;;
    5) [ -n "$(ours)" ] && ! ours | grep -v -q "Input/output error" || fail "$what: is not said" ;;
    # What it began a moment before may not have been told.
    *) names_lost 0 "(step [3-6]: [a-z0-9 ]+|the start|the start of training|the end of training)" ;;
  esac
  goes_on 2 m.weft
}

# When nothing is left to do but to say so.
disturb_rank "the end of training" kill

# Every kind of phase with everything that may happen, in a random order.
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
    # Those before i have not been this time.
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
echo "faults: all ranks ended as they should in $met cases of seed $seed, within $((longest / 1000)).$((longest % 1000 / 100)) s"
