#!/usr/bin/env bash
# What ranks cost, and what of their talk is hidden behind their work, of GPT-2's training step (or a small one's):
# - one process with two threads, and two processes with a core each, in turns;
# - two ranks on two machines (network namespaces: takes root) whose link lets talk take about half as long as the work,
#   with sums sent while the last shard is computed, and with none sent before it is over, in turns.
#   measure.sh STEP LAUNCHER [SIZE [BATCH TOKENS SHARDS STEPS ROUNDS]]
# STEP is build/weft_ranks_step (-DWEFT_BENCH=ON -DWEFT_MPI=ON), LAUNCHER Open MPI's mpirun. Medians of ROUNDS medians.
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/../../mpi/common.sh" measure "$1" "$2" ""
[ $open_mpi = yes ] || fail "binds ranks as Open MPI's launcher does"
size=${3:-gpt2} batch=${4:-8} tokens=${5:-512} shards=${6:-8} steps=${7:-5} rounds=${8:-5}
bound=36000
pieces=8388608 whole=1099511627776 # bytes of a bucket: 8 MiB, and more than all gradients

step() { echo "$size $batch $tokens $shards $steps $1 $2"; }
# of_ranks FILE THREADS BUCKET: appends the line of two ranks to the file.
of_ranks() {
  # shellcheck disable=SC2046
  ranks 2 $(step "$2" "$3")
  succeeds
  cat "$work/out" >>"$work/$1"
}
# median FILE COLUMN
median() { cut -d ' ' -f "$2" "$work/$1" | sort -g | sed -n "$(((rounds + 1) / 2))p"; }
calculate() { awk "BEGIN { printf \"$1\", $2 }"; }

flags+=(--bind-to core)
for _ in $(seq "$rounds"); do
  # shellcheck disable=SC2046
  one $(step 2 $pieces)
  cat "$work/out" >>"$work/threads"
  of_ranks processes 1 $pieces
done
a=$(median threads 1) b=$(median processes 1) megabytes=$(median processes 3)
echo "model           $size, $megabytes MB of gradients; $batch x $tokens tokens in $shards shards a step"
echo "one process     $a s a step, 2 threads"
echo "two processes   $b s a step, a core each: $(calculate %+.1f "($b / $a - 1) * 100")%"

# Each of two ranks sends half of the gradients' bytes, and half of the parameters'.
mbits=$(calculate %.0f "$megabytes * 8 / ($b / 2)")
# shellcheck source=tests/mpi/machines.sh
. "$(dirname "$0")/../../mpi/machines.sh"
export WEFT_SILENCE=120s WEFT_RANK_FAULT=
flags=(--allow-run-as-root --bind-to none)
for m in 1 2; do add_machine $m 40gbit; done
for _ in $(seq "$rounds"); do of_ranks fast 1 $pieces; done
for m in 1 2; do set_rate $m "${mbits}mbit"; done
for _ in $(seq "$rounds"); do
  of_ranks hidden 1 $pieces
  of_ranks open 1 $whole
done
fast=$(median fast 1) hidden=$(median hidden 1) open=$(median open 1)
echo "two machines    $fast s a step, without a limit of their link"
echo "                $hidden s at $mbits Mbit/s, $(median hidden 2) s of it waiting"
echo "                $open s at that rate, where nothing is sent while shards are computed; $(median open 2) s of it waiting"
echo "hidden          $(calculate %.0f "($open - $hidden) / ($open - $fast) * 100")% of what talk takes"
