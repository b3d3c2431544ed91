#!/usr/bin/env bash
# The program with an MPI launcher: any number of ranks writes the same file as one process, byte for byte; errors are printed once; if a
# rank is killed, all ranks end and the last checkpoint is valid.
#   program.sh WEFT LAUNCHER FIXTURES
. "$(dirname "$0")/common.sh" "mpi program" "$@"

one "${six[@]}" --out "$work/alone.weft" --best "$work/best.weft"
one inspect "$work/alone.weft" --split 3
grep -q "^# reduce_scatter shards.sum." "$work/out" && grep -q "^# rank 2 owns " "$work/out" || fail "does not print what ranks exchange"
for n in 1 2 3 4; do
  ranks $n "${six[@]}" --out "$work/$n.weft" --log "$work/$n.jsonl" --best "$work/best$n.weft" \
    --tensorboard "$work/runs$n" --histograms 2 --trace "$work/$n.json" --trace-steps 3-4
  succeeds
  same $n.weft alone.weft
  same $n.ema.weft alone.ema.weft
  same best$n.weft best.weft
  [ "$(grep -c '^saved ' "$work/out")" -eq 1 ] || fail "$n ranks print more than once"
  [ "$(grep -c '"event":"step"' "$work/$n.jsonl")" -eq 6 ] || fail "$n ranks write the log more than once"
  [ "$(find "$work/runs$n" -type f | wc -l)" -eq 1 ] || fail "$n ranks write several event files"
  [ "$(grep -o '"name":"rank [0-9]*"' "$work/$n.json" | sort -u | wc -l)" -eq $n ] || fail "the timeline does not show $n ranks"
  [ "$(grep -c '"name":"step [34]"' "$work/$n.json")" -eq $((2 * n)) ] || fail "the timeline does not show both steps of $n ranks"
done
grep -q -E '^ranks +4: .* tokens/s each, .* together; waiting [0-9.]+%$' "$work/out" || fail "does not print the speed of the ranks"
grep -q '"event":"end".*"ranks":\[{"tokens_per_second"' "$work/4.jsonl" || fail "the log does not contain the speed of the ranks"

# With a memory budget four ranks keep gradient sums on their owners only; three ranks, which cannot, keep whole sums.
for n in 3 4; do
  ranks $n "${six[@]}" --memory-budget 1GiB --out "$work/owned$n.weft" --best "$work/bestowned.weft"
  succeeds
  same owned$n.weft alone.weft
  same bestowned.weft best.weft
done

# A run that is stopped on three ranks, resumed on two and finished by one process writes the same file.
ranks 3 "${six[@]}" --out "$work/part.weft" --best "$work/bestpart.weft" --stop-after 2
succeeds
ranks 2 "${again[@]}" --resume "$work/part.weft" --best "$work/bestpart.weft" --stop-after 4
succeeds
one "${again[@]}" --resume "$work/part.weft" --best "$work/bestpart.weft"
same part.weft alone.weft
same part.ema.weft alone.ema.weft
same bestpart.weft best.weft

# Sharded checkpoints: any number of ranks resumes, and converting the shards to one file gives the file of one process.
shards_of() { find "$work" -name "$1-*-of-*.weft" | wc -l; }
ranks 3 "${six[@]}" --sharded --out "$work/s.weft" --best "$work/sbest.weft" --keep 1 --stop-after 4
succeeds
grep -q '^files ' "$work/out" && fail "reports that not all ranks can access the folder"
[ "$(shards_of s)" -eq 6 ] || fail "$(shards_of s) shards of two checkpoints by three ranks"
for file in s.weft s.1.weft sbest.weft; do one verify "$work/$file"; done
ranks 2 "${again[@]}" --sharded --resume "$work/s.weft" --best "$work/sbest.weft"
succeeds
[ "$(shards_of s)" -eq 5 ] || fail "shards without a checkpoint remain, or shards are missing"
one convert "$work/s.weft" --out "$work/one.weft"
same one.weft alone.weft
same s.ema.weft alone.ema.weft
one convert "$work/sbest.weft" --out "$work/one.weft"
same one.weft best.weft
one convert "$work/s.weft" --inference --out "$work/small.weft"
one evaluate "$work/s.weft" --text "$fixtures/weft_files/data/text.txt"
one inspect "$work/s.weft"
# One process resumes and writes one file; the shards are removed.
one "${again[@]}" --resume "$work/s.weft" --best "$work/sbest.weft"
same s.weft alone.weft
[ "$(shards_of s)" -eq 3 ] || fail "shards remain next to one file, or shards of an earlier checkpoint are missing"
rm "$work"/s.1.weft
# If not all ranks can access the folder, rank 0 writes the file, as without --sharded.
mkdir "$work/here" "$work/there"
apart=("$weft" "${six[@]}" --sharded --out m.weft --best best.weft)
code=0
timeout 60 "$launcher" "${flags[@]}" -n 1 -wdir "$work/here" "${apart[@]}" : -n 1 -wdir "$work/there" "${apart[@]}" \
  </dev/null >"$work/out" 2>"$work/err" || code=$?
succeeds
grep -q '^files *rank 0 writes all of them despite --sharded' "$work/out" || fail "does not say that rank 0 writes"
same here/m.weft alone.weft
[ -z "$(ls "$work/there")" ] || fail "a rank other than rank 0 has written files"
code=0
timeout 60 "$launcher" "${flags[@]}" -n 1 "$weft" "${six[@]}" --sharded --out "$work/x.weft" : -n 1 "$weft" "${six[@]}" --out "$work/x.weft" \
  </dev/null >"$work/out" 2>"$work/err" || code=$?
said "ranks differ in --sharded: rank 0 .* has it, rank 1 .* has none"

# Results equal those of one rank.
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

# Benchmarks measure a distributed step.
ranks 2 bench train --model char-small --batch 4 --seq 8 --shards 4 --bucket 64KiB --no-overlap --runs 1 --threads 1 --json
succeeds
grep -q '"shards":4,"ranks":2,' "$work/out" || fail "does not print the numbers of shards and ranks"

# Errors before training are printed by one rank.
ranks 2 bench train --model char-small --batch 4 --seq 8 --runs 1
said "2 ranks are too many for 1 shards"
ranks 3 train gpt "${tiny[@]}" --batch 8 --shards 2 --out "$work/x.weft"
said "3 ranks are too many for 2 shards: set --shards to 4"
ranks 3 train gpt "${tiny[@]}" --batch 2 --out "$work/x.weft"
said "3 ranks are too many for 1 shard: set --shards to 4 with a --batch of 4 or more"
ranks 2 "${six[@]}" --out "$work/none/x.weft"
said "there is no folder"
ranks 2 train gpt --text "$work/none.txt" --out "$work/x.weft"
said "none.txt"
ranks 2 inspect "$work/alone.weft"
said "this command runs on one rank, but 2 were started"
ranks 3 "${again[@]}" --resume "$work/none.weft"
said "none.weft"
WEFT_SILENCE=never ranks 3 "${six[@]}" --out "$work/x.weft"
said "WEFT_SILENCE .* is 'never', but must be a duration from 200ms to 86400s"
WEFT_MOST_DIRECT=none ranks 3 "${six[@]}" --out "$work/x.weft"
said "WEFT_MOST_DIRECT in the environment"
[ ! -e "$work/x.weft" ] || fail "a file was written"

# pid_of RANK FILE: prints the process id of the rank that trains FILE.
pid_of() {
  local pid
  for pid in $(pgrep -f "$2"); do
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$weft")" ] || continue
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -q -E "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1$"; then echo "$pid" && return; fi
  done
  return 1
}
# train_until_saved RANKS FILE OPTION...: trains in the background; returns when FILE exists.
train_until_saved() {
  timeout 100 "$launcher" "${flags[@]}" -n "$1" "$weft" "${new[@]}" --steps 1000000 --eval-every 0 --save-every 5 --out "$2" "${@:3}" \
    </dev/null >"$work/out" 2>"$work/err" &
  launched=$!
  for _ in $(seq 300); do
    [ ! -s "$2" ] || return 0
    sleep 0.1
  done
  fail "no checkpoint within 30 s"
}

# A stop signal to one rank stops all.
train_until_saved 3 "$work/stopped.weft"
kill -TERM "$(pid_of 1 "$work/stopped.weft")"
code=0
wait $launched || code=$?
succeeds
grep -q '^stopped ' "$work/out" || fail "does not print that it was stopped"
"$weft" verify "$work/stopped.weft" >/dev/null || fail "the checkpoint written at the stop is invalid"

# If a rank is killed, all ranks end, and a rank prints the reason unless the launcher ends the ranks before.
for how in 0 2 "0 --sharded" "1 --sharded"; do
  read -r rank option <<<"$how"
  train_until_saved 3 "$work/killed.weft" ${option:+"$option"}
  kill -KILL "$(pid_of $rank "$work/killed.weft")"
  code=0
  wait $launched || code=$?
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "exit code $code after rank $rank was killed"
  grep -q '^stopped ' "$work/out" && fail "a killed rank was reported as a stop"
  # MPICH's launcher kills the others at once.
  [ ${#flags[@]} -eq 0 ] || grep -q '^weft: ' "$work/err" || fail "no rank gives the reason"
  "$weft" verify "$work/killed.weft" >/dev/null || fail "the last checkpoint is invalid"
  rm "$work"/killed*.weft
done
echo "mpi program: ranks of $launcher write the files of one process"
