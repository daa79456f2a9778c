#!/bin/bash
# Stands for the program of its name (go, mvn, apt-get, …) in tests of tools/install.sh: writes what the real one would, without a network.
# SLOW: seconds of a first download of Maven. FAILING: the name of the program that fails.
set -euo pipefail
name=$(basename "$0")

if [ "${FAILING:-}" = "$name" ]; then
  echo "$name: no connection" >&2
  exit 1
fi

# The word after $1 in the other arguments.
after() {
  local wanted=$1
  shift
  while [ "$1" != "$wanted" ]; do shift; done
  echo "$2"
}

program() { # path, what it prints
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/bash\necho "%s"\n' "${2:-}" >"$1"
  chmod +x "$1"
}

# Maven creates its repository when the first file arrives.
maven() {
  local argument repository out
  for argument in "$@"; do
    case $argument in
      -Dmaven.repo.local=*) repository=${argument#*=} ;;
      -DoutputDirectory=*) out=${argument#*=} ;;
    esac
  done
  [ -d "$repository" ] || sleep "${SLOW:-0}"
  mkdir -p "$repository" "$out"
  touch "$out"/pinot-{tools,common}-1.jar
}

go_build() {
  local out package version
  out=$(after -o "$@")
  version=$(sed -n 's/.*gitVersion=\(v[0-9.]*\).*/\1/p' <<<"$*")
  case $out in
    */) for package in "$@"; do case $package in [a-z]*.*/*) program "$out$(basename "$package")" "Kubernetes $version" ;; esac; done ;;
    *) program "$out" ;;
  esac
}

case $name:$* in
  mvn:*) maven "$@" ;;
  go:build*) go_build "$@" ;;
  javac:*) touch "$(after -d "$@")/Cluster.class" ;;
  node:*) touch "$2/segments" ;;
  apt-get:*download*) touch "${*: -1}_1_amd64.deb" ;;
  dpkg-deb:*)
    for file in bin/prometheus bin/promtool bin/prometheus-alertmanager sbin/nginx bin/tinyproxy lib/any/faketime/libfaketime.so.1 share/templates; do
      program "unpacked/usr/$file"
    done
    ;;
esac
