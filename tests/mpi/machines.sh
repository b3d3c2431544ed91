# shellcheck shell=bash disable=SC2154
# Simulates machines with network namespaces, each with a host name and a link of limited bandwidth to a switch. Source it after common.sh;
# launch_on() then starts ranks on the machines. Exits with code 77 if that is impossible: it needs root, and the tools `ip` and `tc`.
skip() {
  echo "$name: skipped: $*"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
for tool in ip tc unshare; do command -v $tool >/dev/null || skip "$tool is not installed (Debian: iproute2, util-linux)"; done
tag=weft$$

# machines_of TAG: prints the machines of a script.
machines_of() { ip netns list | grep -o -E "^$1-[a-z0-9]+"; }
# end_on MACHINE: kills all processes on a machine.
end_on() {
  local pids
  mapfile -t pids < <(ip netns pids "$1")
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true
}
remove_machines() {
  local machine
  for machine in $(machines_of "$1"); do
    end_on "$machine"
    ip netns del "$machine" || true
  done
}
clean_up() { remove_machines $tag; }
# Removes the machines of scripts that were killed.
for old in $(ip netns list | grep -o -E "^weft[0-9]+" | sort -u); do
  [ -e "/proc/${old#weft}" ] || remove_machines "$old"
done
export WEFT_MOST_DIRECT=32
ip netns add $tag-switch 2>/dev/null || skip "root may not create network namespaces here"
ip -n $tag-switch link add switch type bridge || skip "the kernel does not support bridges"
ip -n $tag-switch link set switch up

# set_rate NUMBER RATE: sets the bandwidth of the link of machine NUMBER in both directions. The burst is large enough for the largest TCP
# packet: otherwise the kernel splits packets in software, which real network cards do in hardware, and which occupies a core if two
# machines exchange 500 Mbit/s.
set_rate() {
  local rate=(root tbf rate "$2" burst 256kb latency 100ms)
  ip netns exec "$tag-$1" tc qdisc replace dev eth0 "${rate[@]}"
  ip netns exec $tag-switch tc qdisc replace dev "port$1" "${rate[@]}"
}
# add_machine NUMBER RATE: creates machine NUMBER with the address 10.77.0.NUMBER.
add_machine() {
  local here=$tag-$1
  ip netns add "$here"
  ip -n "$here" link set lo up
  ip link add eth0 netns "$here" type veth peer name "port$1" netns $tag-switch
  set_rate "$1" "$2"
  ip -n $tag-switch link set "port$1" master switch up
  ip -n "$here" addr add "10.77.0.$1/24" dev eth0
  ip -n "$here" link set eth0 up
  until [ "$(ip netns exec "$here" cat /sys/class/net/eth0/operstate)" = up ]; do sleep 0.1; done
}
# The replacement of ssh: agent [OPTIONS] 10.77.0.NUMBER COMMAND...
cat >"$work/agent" <<TXT
#!/usr/bin/env bash
while [[ \$1 == -* ]]; do shift; done
machine=\${1##*.}
shift
exec ip netns exec $tag-\$machine unshare --uts bash -c 'hostname machine\$0; exec bash -c "\$1"' \$machine "\$*"
TXT
chmod +x "$work/agent"

machines=2
# The number of consecutive ranks on a machine; 0 distributes ranks round-robin.
neighbours=0
# Without these keepalives Open MPI's launcher waits many minutes for a machine that does not answer.
launch_on() {
  local m hosts=() slots=8 map=node mpich=()
  if [ $neighbours -gt 0 ]; then slots=$neighbours map=slot mpich=(-ppn $neighbours); fi
  for m in $(seq $machines); do hosts+=("10.77.0.$m"); done
  if [ $open_mpi = yes ]; then
    launch=("$launcher" "${flags[@]}" --host "$(printf "%s:$slots," "${hosts[@]}")" --map-by $map
      --mca plm_rsh_agent "$work/agent" --mca btl vader,tcp,self --mca btl_tcp_if_include eth0
      --mca oob_tcp_if_include eth0 --mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1
      --mca oob_tcp_keepalive_probes 2 -x WEFT_SILENCE -x WEFT_RANK_FAULT -x WEFT_MOST_DIRECT)
  else
    launch=("$launcher" -launcher ssh -launcher-exec "$work/agent" -iface eth0 -hosts "$(IFS=,; echo "${hosts[*]}")" "${mpich[@]}"
      -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0)
  fi
  launch=(ip netns exec $tag-1 unshare --uts bash -c 'hostname machine1; exec "$@"' bash "${launch[@]}" -n "$1")
}
