#!/usr/bin/env bash
# Ranks on simulated machines (machines.sh) write the same file as one process, byte for byte. If a rank is lost or the link of a machine
# fails, all ranks end, and the remaining machines can resume.
#   network.sh WEFT_WITH_FAULTS LAUNCHER FIXTURES [all]
# With "all" the link fails in every phase, otherwise in one. Exits with code 77 if machines.sh cannot create machines.
# shellcheck source=tests/mpi/common.sh
. "$(dirname "$0")/common.sh" network "$1" "$2" "$3"
# shellcheck source=tests/mpi/machines.sh
. "$(dirname "$0")/machines.sh"

# MPICH 4.0 with UCX 1.13 sometimes hangs in MPI_Finalize over TCP, even in programs of three lines. The work of the ranks is done by then.
[ $open_mpi = yes ] || bound=25
succeeds() {
  if [ $open_mpi = no ] && [ "$code" -ge 124 ] && grep -q "^validation loss" "$work/out"; then
    echo "network: hangs in MPICH's MPI_Finalize"
    for m in $(seq $machines); do end_on "$tag-$m"; done
  else
    [ "$code" -eq 0 ] || fail "exit code $code"
  fi
}

export WEFT_SILENCE=2s WEFT_RANK_FAULT=
train_undisturbed
for m in 1 2; do add_machine $m 50mbit; done
for n in 2 3; do
  ranks $n "${six[@]}" --out "$work/$n.weft" --best "$work/best$n.weft"
  succeeds
  same $n.weft alone.weft
done
# Large messages in both directions at the same time.
if [ $open_mpi = yes ]; then
  weft=${weft%/*}/weft_train_on_ranks ranks 2 lines
  succeeds
  grep -q "^all messages arrived" "$work/out" || fail "large messages were lost"
fi
# sent: prints the bytes that machine 2 has sent.
sent() { ip netns exec $tag-2 cat /sys/class/net/eth0/statistics/tx_bytes; }
[ "$(sent)" -gt 50000 ] || fail "machine 2 has sent only $(sent) bytes: ranks used another route"
# Two ranks on each machine, which exchange data with the other machine directly or as a group: the group sends less.
neighbours=2
for direct in 32 1; do
  before=$(sent) WEFT_MOST_DIRECT=$direct
  ranks 4 "${six[@]}" --out "$work/near$direct.weft" --best "$work/best-near$direct.weft"
  succeeds
  same near$direct.weft alone.weft
  printf -v "of_$direct" %d $(($(sent) - before))
done
neighbours=0 WEFT_MOST_DIRECT=32
# shellcheck disable=SC2154
[ $((4 * of_1)) -lt $((3 * of_32)) ] || fail "machine 2 has sent $of_1 bytes with groups and $of_32 bytes without"

# ended RANK PHASE CALL COMMAND: a rank runs a command at a transport call of a phase; all ranks must fail and end.
ended() {
  rm -f "$work"/m.* "$work"/best-m.*
  WEFT_RANK_FAULT="$1|$2|$3|$4" ranks $machines "${six[@]}" --out "$work/m.weft" --best "$work/best-m.weft"
  [ "$code" -ne 0 ] || fail "$4 in $2: did not fail"
  [ "$code" -ne 124 ] || fail "$4 in $2: does not end"
}
# lost PHASE CALL COMMAND: as above for rank 1; the others must report that it is lost.
lost() {
  ended 1 "$@"
  names_lost 1 "$1"
  grep -q -E "\(host machine2\)|AT 10\.77\.0\.2" "$work/out" "$work/err" || fail "$3: does not name the machine"
  check_all_ended
  is_checkpoint m.weft
}
lost "step 3: the sums of all shards" 1 'kill -KILL $PPID'
machines=1
finish_run 1 m.weft
machines=2
lost "step 4: saving" 2 'kill -STOP $PPID'
finish_run 2 m.weft

# Three machines; the link of one fails.
add_machine 3 50mbit
machines=3
phases=("step 3: the exchange of parameters")
if [ "${4:-}" = all ]; then
  # Ranks compute different shards: "PHASE OF RANK 0|PHASE OF RANK 1".
  phases+=("step 3: shard 0 of 8|step 3: shard 3 of 8" "step 3: shard 1 of 8|step 3: shard 4 of 8"
    "step 3: the sums of all shards" "step 3: the end of the step" "step 3: evaluation" "step 3: saving the best model"
    "step 4: saving" "the end of training")
fi
ranks 4 "${six[@]}" --out "$work/4.weft" --best "$work/best4.weft"
succeeds
same 4.weft alone.weft
# first_lost PHASE: the link of the first machine fails. The launcher runs there and does not receive the output of the other ranks, so only
# the message of rank 0 is checked.
first_lost() {
  ended 0 "$1" 0 'ip link set eth0 down'
  [ "$(rank_messages | wc -l)" -eq 1 ] || fail "$1: did not print exactly one message"
  rank_messages | grep -q -E "^weft: rank [12] \(host machine[23]\) is (lost|silent for [0-9.]+ s); it was in .*, which began " ||
    fail "$1: the message does not name the lost rank"
  check_all_ended
  is_checkpoint m.weft
}
for phase in "${phases[@]}"; do
  machines=3
  first_lost "${phase%|*}"
  for m in 1 2 3; do end_on $tag-$m; done
  ip -n $tag-1 link set eth0 up
  finish_run 3 m.weft
  lost "${phase#*|}" 0 'ip link set eth0 down'
  machines=2
  end_on $tag-2 # processes that the launcher could not end
  ip -n $tag-2 link set eth0 up
  finish_run 2 m.weft
done
echo "network: ranks of $launcher on 2 and 3 machines write the file of one process; remaining machines resume after a failure"
