#!/usr/bin/env bash
# What ranks cost, and what of their talk is hidden behind their work, of GPT-2's training step (or a small one's):
# - one process with two threads, and two and four processes that share as many cores, in turns;
# - two ranks on two machines (network namespaces: takes root) whose link lets talk take about half as long as the work,
#   with gradients and parameters sent while something is computed, and with nothing sent then, in turns; and messages on
#   that link by themselves (weft_messages_bench beside WEFT, where it was built with -DWEFT_BENCH=ON).
# - what `weft inspect --model --ranks` predicts for these links, from what one process reaches, beside what was measured;
# - where PYTHON (default: python3) has PyTorch, its DistributedDataParallel over Gloo beside both.
#   measure.sh WEFT LAUNCHER [MODEL [BATCH TOKENS SHARDS STEPS ROUNDS]]
# WEFT is build/weft with -DWEFT_MPI=ON, LAUNCHER Open MPI's mpirun. Medians of ROUNDS medians.
# shellcheck source=tests/mpi/common.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../mpi/common.sh" measure "$1" "$2" ""
[ $open_mpi = yes ] || fail "binds ranks as Open MPI's launcher does"
model=${3:-gpt2} batch=${4:-8} tokens=${5:-512} shards=${6:-2} steps=${7:-5} rounds=${8:-5} python=${PYTHON:-python3}
bound=36000

# step THREADS [OPTION]: the command that measures a training step.
step() {
  echo bench train --model "$model" --batch "$batch" --seq "$tokens" --shards "$shards" --runs "$steps" --threads "$@" --json
}
# figure NAME: of the JSON object that was printed last.
figure() { sed -n "s/.*\"$1\":\( *[0-9.e+-]*\).*/\1/p" "$work/out" | tail -n 1; }
# note FILE: appends seconds of a step, seconds of it waiting, and MiB of the largest rank.
note() { echo "$(figure seconds_per_step) $(figure waiting_seconds) $(($(figure peak_rss_bytes) >> 20))" >>"$work/$1"; }
# of_ranks FILE [OPTION]: of two.
of_ranks() {
  # shellcheck disable=SC2046
  ranks 2 $(step 1 "${@:2}")
  succeeds
  note "$1"
}
# of_four FILE: they need as many shards.
four_shards=$((shards < 4 ? 4 : shards))
of_four() {
  local shards=$four_shards flags=(--oversubscribe --allow-run-as-root --bind-to none)
  # shellcheck disable=SC2046
  ranks 4 $(step 1)
  succeeds
  note "$1"
}
peer() {
  "$python" "$here/../peers/torch_peer.py" train "$model" "$batch" "$tokens" --threads 2 --runs "$steps" --ranks "$2" \
    >"$work/out" 2>"$work/err" || fail "the peer does not run"
  sed -i 's/": /":/g' "$work/out"
  note "$1"
}
# median FILE COLUMN
median() { cut -d ' ' -f "$2" "$work/$1" | sort -g | sed -n "$(((rounds + 1) / 2))p"; }
calculate() { awk "BEGIN { printf \"$1\", $2 }"; }
with_peer=no
if [ "$model" = gpt2 ] && "$python" -c "import torch.distributed" 2>/dev/null; then with_peer=yes; fi

flags+=(--bind-to core)
for _ in $(seq "$rounds"); do
  # shellcheck disable=SC2046
  one $(step 2)
  note threads
  flops=$(figure flops)
  of_ranks processes
  of_four four
  of_ranks owned --memory-budget 1TiB # which working memory meets: sums alone are different
  megabytes=$(calculate %.1f "$(figure gradient_bytes) / 1e6")
  if [ $with_peer = yes ]; then peer peer_threads 1 && peer peer_processes 2; fi
done
a=$(median threads 1) b=$(median processes 1)
show() { echo "$1 $2 s a step, $3: $(calculate %+.1f "($2 / $4 - 1) * 100")%, $5 MiB a rank"; }
echo "model           $model, $megabytes MB of gradients; $batch x $tokens tokens in $shards shards a step"
echo "one process     $a s a step, 2 threads, $(median threads 3) MiB"
show "two processes  " "$b" "a core each" "$a" "$(median processes 3)"
show "four processes " "$(median four 1)" "half a core each" "$a" "$(median four 3)"
show "                " "$(median owned 1)" "with gradients on their owners alone" "$a" "$(median owned 3)"
if [ $with_peer = yes ]; then
  echo "PyTorch         $(median peer_threads 1) s a step, 2 threads, $(median peer_threads 3) MiB"
  show "with DDP       " "$(median peer_processes 1)" "a core each" "$(median peer_threads 1)" "$(median peer_processes 3)"
fi

# Each of two ranks sends half of the gradients' bytes, and half of the parameters'.
mbits=$(calculate %.0f "$megabytes * 8 / ($b / 2)")
# shellcheck source=tests/mpi/machines.sh
. "$here/../../mpi/machines.sh"
export WEFT_SILENCE=120s WEFT_RANK_FAULT=
flags=(--allow-run-as-root --bind-to none)
for m in 1 2; do add_machine $m 40gbit; done
for _ in $(seq "$rounds"); do of_ranks fast; done
# at MBIT/S NAME: both links.
at() {
  for m in 1 2; do set_rate $m "$1mbit"; done
  for _ in $(seq "$rounds"); do of_ranks "$2"; done
}
at $((2 * mbits)) faster
at $((mbits / 2)) slower
for m in 1 2; do set_rate $m "${mbits}mbit"; done
if [ -x "${weft%/*}/weft_messages_bench" ]; then
  weft=${weft%/*}/weft_messages_bench ranks 2
  succeeds
  echo "messages        at $mbits Mbit/s ($(calculate %.0f "$mbits / 8") MB/s each way):"
  sed 's/^/                /' "$work/out"
fi
for _ in $(seq "$rounds"); do
  of_ranks hidden
  of_ranks open --no-overlap
done
fast=$(median fast 1) hidden=$(median hidden 1) open=$(median open 1)
echo "two machines    $fast s a step, without a limit of their link"
echo "                $hidden s at $mbits Mbit/s, $(median hidden 2) s of it waiting"
echo "                $open s at that rate, where nothing is sent while it computes; $(median open 2) s of it waiting"
echo "hidden          $(calculate %.0f "($open - $hidden) / ($open - $fast) * 100")% of what talk takes"

# predicted RANKS SHARDS MBIT/S FILE: seconds of a step, of ranks that share what the one process computes, beside those measured.
predicted() {
  one inspect --model "$model" --batch $((batch / $2)) --seq "$tokens" --ranks "$1" --shards "$2" --bandwidth "$3Mbit/s" \
    --latency 50us --gflops "$(calculate %.3f "$flops / $a / $1 / 1e9")"
  echo "predicted       $(sed -n 's/^ *time *\([0-9.e+-]*\) s: .*/\1/p' "$work/out") s of $1 ranks at $3 Mbit/s;" \
    "measured $(median "$4" 1) s"
}
"$weft" inspect --model "$model" >/dev/null 2>&1 || exit 0
predicted 2 "$shards" 40000 processes
predicted 4 "$four_shards" 40000 four
predicted 2 "$shards" 40000 fast
predicted 2 "$shards" $((2 * mbits)) faster
predicted 2 "$shards" "$mbits" hidden
predicted 2 "$shards" $((mbits / 2)) slower
