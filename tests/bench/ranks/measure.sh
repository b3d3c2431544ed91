#!/usr/bin/env bash
# Measures the overhead of distributed training, and how much communication overlaps with computation, for a training step of GPT-2 (or of
# a smaller model):
# - one process with two threads, compared with two and four processes on the same two cores; the runs alternate;
# - two ranks on two machines (network namespaces, which need root), on a link whose bandwidth makes communication take about half as long
#   as computation: with and without overlap, alternating; and the throughput of messages on that link (weft_messages_bench next to WEFT, if
#   it was built with -DWEFT_BENCH=ON);
# - PyTorch's DistributedDataParallel with Gloo, if PYTHON (default: python3) has PyTorch.
#   measure.sh WEFT LAUNCHER [MODEL [BATCH TOKENS SHARDS STEPS ROUNDS]]
# WEFT is build/weft with -DWEFT_MPI=ON, LAUNCHER is Open MPI's mpirun. Results are medians over ROUNDS of the medians of single runs.
# shellcheck source=tests/mpi/common.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../mpi/common.sh" measure "$1" "$2" ""
[ $open_mpi = yes ] || fail "needs Open MPI's launcher, which binds ranks to cores"
model=${3:-gpt2} batch=${4:-8} tokens=${5:-512} shards=${6:-2} steps=${7:-5} rounds=${8:-5} python=${PYTHON:-python3}
bound=36000

# step THREADS [OPTION]...: prints the arguments of weft that measure a training step.
step() {
  echo bench train --model "$model" --batch "$batch" --seq "$tokens" --shards "$shards" --runs "$steps" --threads "$@" --json
}
# figure NAME: prints a number of the last JSON object in the output.
figure() { sed -n "s/.*\"$1\":\( *[0-9.e+-]*\).*/\1/p" "$work/out" | tail -n 1; }
# note FILE: appends the seconds of a step, the seconds of waiting, and the MiB of the largest rank.
note() { echo "$(figure seconds_per_step) $(figure waiting_seconds) $(($(figure peak_rss_bytes) >> 20))" >>"$work/$1"; }
# of_ranks FILE [OPTION]...: measures two ranks.
of_ranks() {
  # shellcheck disable=SC2046
  ranks 2 $(step 1 "${@:2}")
  succeeds
  note "$1"
}
# of_four FILE: measures four ranks, which need at least four shards.
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
    >"$work/out" 2>"$work/err" || fail "PyTorch's training step failed"
  sed -i 's/": /":/g' "$work/out"
  note "$1"
}
# median FILE COLUMN: prints the median of a column.
median() { cut -d ' ' -f "$2" "$work/$1" | sort -g | sed -n "$(((rounds + 1) / 2))p"; }
calculate() { awk "BEGIN { printf \"$1\", $2 }"; }
with_peer=no
if [ "$model" = gpt2 ] && "$python" -c "import torch.distributed" 2>/dev/null; then with_peer=yes; fi

flags+=(--bind-to core)
for _ in $(seq "$rounds"); do
  # shellcheck disable=SC2046
  one $(step 2)
  note threads
  of_ranks processes
  of_four four
  of_ranks owned --memory-budget 1TiB # the budget is not reached; it only changes where gradients are summed
  megabytes=$(calculate %.1f "$(figure gradient_bytes) / 1e6")
  if [ $with_peer = yes ]; then peer peer_threads 1 && peer peer_processes 2; fi
done
a=$(median threads 1) b=$(median processes 1)
show() { echo "$1 $2 s per step, $3: $(calculate %+.1f "($2 / $4 - 1) * 100")%, $5 MiB per rank"; }
echo "model           $model, $megabytes MB of gradients; $batch x $tokens tokens in $shards shards per step"
echo "one process     $a s per step, 2 threads, $(median threads 3) MiB"
show "two processes  " "$b" "one core each" "$a" "$(median processes 3)"
show "four processes " "$(median four 1)" "half a core each" "$a" "$(median four 3)"
show "                " "$(median owned 1)" "with gradients summed on their owners (ZeRO-2)" "$a" "$(median owned 3)"
if [ $with_peer = yes ]; then
  echo "PyTorch         $(median peer_threads 1) s per step, 2 threads, $(median peer_threads 3) MiB"
  show "with DDP       " "$(median peer_processes 1)" "one core each" "$(median peer_threads 1)" "$(median peer_processes 3)"
fi

# Each of the two ranks sends half of the gradients and half of the parameters.
mbits=$(calculate %.0f "$megabytes * 8 / ($b / 2)")
# shellcheck source=tests/mpi/machines.sh
. "$here/../../mpi/machines.sh"
export WEFT_SILENCE=120s WEFT_RANK_FAULT=
flags=(--allow-run-as-root --bind-to none)
for m in 1 2; do add_machine $m 40gbit; done
for _ in $(seq "$rounds"); do of_ranks fast; done
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
echo "two machines    $fast s per step, without a bandwidth limit"
echo "                $hidden s at $mbits Mbit/s, $(median hidden 2) s of it waiting"
echo "                $open s at that bandwidth without overlap, $(median open 2) s of it waiting"
echo "hidden          $(calculate %.0f "($open - $hidden) / ($open - $fast) * 100")% of the communication time"
