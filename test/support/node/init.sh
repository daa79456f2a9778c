#!/usr/bin/env bash
# init.sh DIRECTORY — process 1 of the node. Sets the node up, then waits for the end of standard input; with process 1 the kernel ends every
# other process of the node, and with them its mounts, interfaces and rules.
set -uo pipefail
exec 3<&0
cat <&3 >/dev/null &
lifeline=$!
bash "$(dirname "${BASH_SOURCE[0]}")/setup.sh" "$1" 3<&- </dev/null &
wait -n "$lifeline" "$!" || exit 1
kill -0 "$lifeline" 2>/dev/null && wait "$lifeline"
