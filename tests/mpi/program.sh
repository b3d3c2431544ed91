#!/usr/bin/env bash
# The program under a launcher of MPI: any number of ranks writes the file that one writes, byte for byte; what is wrong is
# said once; a rank that is killed ends all, and the last checkpoint is whole.
#   program.sh WEFT LAUNCHER FIXTURES
. "$(dirname "$0")/common.sh" "mpi program" "$@"

one "${six[@]}" --out "$work/alone.weft" --best "$work/best.weft"
for n in 1 2 3 4; do
  ranks $n "${six[@]}" --out "$work/$n.weft" --log "$work/$n.jsonl" --best "$work/best$n.weft"
  succeeds
  same $n.weft alone.weft
  same $n.ema.weft alone.ema.weft
  same best$n.weft best.weft
  [ "$(grep -c '^saved ' "$work/out")" -eq 1 ] || fail "$n ranks print more than once"
  [ "$(grep -c '"event":"step"' "$work/$n.jsonl")" -eq 6 ] || fail "$n ranks write the log more than once"
done
grep -q -E '^ranks +4: .* tokens/s each, .* together; waiting [0-9.]+%$' "$work/out" || fail "does not say how fast the ranks were"
grep -q '"event":"end".*"ranks":\[{"tokens_per_second"' "$work/4.jsonl" || fail "the log does not say it either"

# Stopped with three ranks, gone on with two, ended by one process.
ranks 3 "${six[@]}" --out "$work/part.weft" --best "$work/bestpart.weft" --stop-after 2
succeeds
ranks 2 "${again[@]}" --resume "$work/part.weft" --best "$work/bestpart.weft" --stop-after 4
succeeds
one "${again[@]}" --resume "$work/part.weft" --best "$work/bestpart.weft"
# The file of a graph that was loaded names its operations in another order than that of one that was built.
one "${again[@]}" --resume "$work/alone.weft" --best "$work/best.weft" --out "$work/loaded.weft"
same part.weft loaded.weft

# Figures are those of one rank.
for command in "evaluate $work/alone.weft --text $fixtures/weft_files/data/text.txt" \
  "generate $work/alone.weft --prompt a --prompt be --prompt see --batch 1 --tokens 8 --greedy" \
  "score $work/alone.weft --continuation all --continuation work"; do
  # shellcheck disable=SC2086
  "$weft" $command >"$work/one" 2>"$work/err" || fail "$command"
  # shellcheck disable=SC2086
  ranks 3 $command
  succeeds
  same out one
done

# What is wrong before any work is said by one rank.
ranks 3 train gpt "${tiny[@]}" --batch 8 --shards 2 --out "$work/x.weft"
said "3 ranks cannot share 2 shards: --shards 4 would do"
ranks 3 train gpt "${tiny[@]}" --batch 2 --out "$work/x.weft"
said "3 ranks cannot share 1 shard: --shards 4 would do with a --batch of 4 or more"
ranks 2 "${six[@]}" --out "$work/none/x.weft"
said "there is no folder"
ranks 2 train gpt --text "$work/none.txt" --out "$work/x.weft"
said "none.txt"
ranks 2 inspect "$work/alone.weft"
said "this command does its work on one rank, and 2 were started"
ranks 3 "${again[@]}" --resume "$work/none.weft"
said "none.weft"
WEFT_SILENCE=never ranks 3 "${six[@]}" --out "$work/x.weft"
said "WEFT_SILENCE in the environment is 'never', and must be a time from 200ms to 86400s"
[ ! -e "$work/x.weft" ] || fail "a file was written"

# pid_of RANK FILE: of the process that trains FILE as that rank.
pid_of() {
  local pid
  for pid in $(pgrep -f "$2"); do
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$weft")" ] || continue
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -q -E "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1$"; then echo "$pid" && return; fi
  done
  return 1
}
# train_until_saved RANKS FILE: in the background.
train_until_saved() {
  timeout 100 "$launcher" "${flags[@]}" -n "$1" "$weft" "${new[@]}" --steps 1000000 --eval-every 0 --save-every 5 --out "$2" \
    </dev/null >"$work/out" 2>"$work/err" &
  launched=$!
  for _ in $(seq 300); do
    [ ! -s "$2" ] || return 0
    sleep 0.1
  done
  fail "no checkpoint within 30 s"
}

# One of the ranks is asked to stop.
train_until_saved 3 "$work/stopped.weft"
kill -TERM "$(pid_of 1 "$work/stopped.weft")"
code=0
wait $launched || code=$?
succeeds
grep -q '^stopped ' "$work/out" || fail "does not say that it was stopped"
"$weft" verify "$work/stopped.weft" >/dev/null || fail "the checkpoint of a stop is broken"

# One of the ranks is killed: all end, and the launcher says so even where it ends the others before they can.
for rank in 0 2; do
  train_until_saved 3 "$work/killed.weft"
  kill -KILL "$(pid_of $rank "$work/killed.weft")"
  code=0
  wait $launched || code=$?
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "exit code $code after rank $rank was killed"
  grep -q '^stopped ' "$work/out" && fail "a death was taken for a stop"
  # MPICH's launcher kills the others at once.
  [ ${#flags[@]} -eq 0 ] || grep -q '^weft: ' "$work/err" || fail "no rank says why it ends"
  "$weft" verify "$work/killed.weft" >/dev/null || fail "the last checkpoint is broken"
  rm "$work/killed.weft"
done
echo "mpi program: ranks of $launcher write the files of one"
