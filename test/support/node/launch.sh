#!/usr/bin/env bash
# launch.sh DIRECTORY — on the host: starts the node's process 1 (init.sh) in namespaces and cgroups of its own, and removes the cgroups and
# the directory when it has ended. The node lives as long as this script's standard input stays open: when the test that holds the other
# end dies, by SIGKILL too, the kernel closes it. Run it in a session of its own, so that Ctrl-C in a terminal leaves it to clean up.
set -uo pipefail
directory=$1
name=$(basename "$directory")
here=$(dirname "${BASH_SOURCE[0]}")

# One hierarchy of cgroup v1 each; a path holds no blanks here.
hierarchies=$(awk '$3 == "cgroup" { print $2 }' /proc/mounts)

for hierarchy in $hierarchies; do
  mkdir -p "$hierarchy/$name" || exit 1
  # A new cpuset takes no process before it is told its processors and memory nodes.
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$hierarchy/$file" ] || cat "$hierarchy/$file" >"$hierarchy/$name/$file"
  done
done

(
  for hierarchy in $hierarchies; do echo "$BASHPID" >"$hierarchy/$name/cgroup.procs" || exit 1; done
  exec unshare --cgroup --net --mount --uts --ipc --pid --fork --mount-proc --kill-child bash "$here/init.sh" "$directory"
)
status=$?

# The kernel lets go of killed processes one by one: a cgroup may be busy for some moments more.
for hierarchy in $hierarchies; do
  for _ in $(seq 50); do
    find "$hierarchy/$name" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -e "$hierarchy/$name" ] || break
    sleep 0.1
  done
done
rm -rf "$directory"
exit $status
