#!/usr/bin/env bash
# setup.sh DIRECTORY — inside the node's namespaces: makes the file systems and the network of a node, then starts the programs of the cluster,
# each with the arguments that lie in DIRECTORY/arguments/<program>, one a line, once DIRECTORY/configured is there. Touches DIRECTORY/ready when the node is Ready; what fails is
# told on standard output with the end of the log of the program.
set -euo pipefail
directory=$1
address=10.89.0.2
export KUBECONFIG=$directory/node-admin.kubeconfig KUBECACHEDIR=$directory/kubectl-cache

hostname node-1

mount_file_systems() {
  # Mounts propagate among the node's own, never to the host.
  mount --make-rprivate /
  mount --make-rshared /
  local target options hierarchies
  hierarchies=$(awk '$3 == "cgroup" { print $2, $4 }' /proc/mounts)
  mount -t sysfs sysfs /sys
  mount -t tmpfs tmpfs /sys/fs/cgroup
  while read -r target options; do
    # A hierarchy with other controllers only, such as rdma, is not needed.
    options=$(tr , '\n' <<<"$options" | grep -Ex 'cpu|cpuacct|cpuset|memory|devices|freezer|blkio|pids|hugetlb|net_cls|net_prio|perf_event|name=.*' | paste -sd,) || continue
    mkdir -p "$target"
    case $options in name=*) options=none,$options ;; esac
    mount -t cgroup -o "$options" cgroup "$target"
  done <<<"$hierarchies"
  mount -t tmpfs tmpfs /run
  # The kubelet and CNI have fixed folders here: the host's are shown below, what is written lies above and goes with the node.
  mkdir -p /run/var-lib/{upper,work} "$directory"/{log,kubelet,containerd}
  mount -t overlay overlay -o lowerdir=/var/lib,upperdir=/run/var-lib/upper,workdir=/run/var-lib/work /var/lib
  mkdir -p /var/lib/kubelet
  mount --bind "$directory/kubelet" /var/lib/kubelet
  mount --bind "$directory/log" /var/log
}

# The kubelet sets these for the whole machine when they differ (`panic_on_oops=1` among them): it is shown what it wants to see instead.
hide_sysctls() {
  local pair file
  for pair in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 \
    kernel/keys/root_maxbytes=25000000; do
    file=/run/sysctl/${pair%=*}
    mkdir -p "$(dirname "$file")"
    echo "${pair#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${pair%=*}"
  done
}

# The node's address sits on a bridge without ports; pods get theirs from the bridge of the CNI plugin.
start_network() {
  ip link set lo up
  ip link add node0 type bridge
  ip address add "$address/24" dev node0
  ip link set node0 up
  ip route add default dev node0
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

declare -A pids
start() {
  local arguments
  mapfile -t arguments <"$directory/arguments/$1"
  "$1" "${arguments[@]}" >"$directory/$1.log" 2>&1 &
  pids[$1]=$!
}

# until_true PROGRAM SECONDS COMMAND…: waits until the command succeeds; the program is whose log tells why it does not.
until_true() {
  local program=$1 deadline=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! kill -0 "${pids[$program]}" 2>/dev/null || [ "$SECONDS" -ge "$deadline" ]; then
      echo "$program did not come up: \`$*\` fails"
      tail -n 20 "$directory/$program.log"
      exit 1
    fi
    sleep 0.1
  done
  echo "$program is up after $SECONDS s"
}

node_is_ready() {
  [ "$(kubectl get node node-1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

mount_file_systems
hide_sysctls
start_network
until [ -e "$directory/configured" ]; do sleep 0.05; done
start etcd
start kube-apiserver
start containerd
until_true kube-apiserver 90 kubectl get --raw /readyz
start kube-controller-manager
start kube-scheduler
until_true containerd 30 ctr version
ctr --namespace k8s.io images import --local "$NODE_PARTS/pause.tar" >/dev/null
start kubelet
start kube-proxy
until_true kube-controller-manager 60 kubectl get serviceaccount default --namespace default
until_true kubelet 90 node_is_ready
if [ -e "$directory/arguments/coredns" ]; then
  start coredns
  kubectl apply -f "$directory/coredns.json" >/dev/null
  until_true coredns 30 curl -sf "http://$address:8181/ready"
fi
touch "$directory/ready"
