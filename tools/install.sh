#!/usr/bin/env bash
# Installs a part that olap-warden runs on or is tested with, and prints its folder.
#
#   tools/install.sh node|kubernetes|node-parts|coredns|kind|helm|kube-score|pinot|pinot-parsers|pinot-tools|sample|s3|gcs|prometheus|alertmanager|nginx|tinyproxy|opa|faketime|browser|firefox
#   tools/install.sh kubernetes 1.35|1.36|1.37
#   tools/install.sh --is-built PART      exits 0 if the part is there, and installs nothing
#
# An older minor version of Kubernetes has kube-apiserver, kube-controller-manager and kubectl, and the etcd of the newest one.
# Parts are stored in ${XDG_CACHE_HOME:-~/.cache}/olap-warden/<part>-<version>-<hash of its pinned files>. All clones share
# them, and a change of the pins builds a new folder. A folder is built under a temporary name and renamed when it is
# complete, so that an interrupted build is not used.
# Progress is written to stderr, the folder (for `browser` and `firefox` the program) to stdout.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/olap-warden
# A part may contain its own path, which a link must not be a part of.
[ ! -L "$cache" ] || cache=$(readlink -f "$cache")

node_version=24.21.0
kubernetes_version=v1.37.1
helm_version=v4.3.1
containerd_version=v2.4.2
pinot_version=0.11.0
# Beside it, those whose SQL parsers the SQL check is compared with.
pinot_parser_versions='1.0.0 1.2.0 1.4.0 1.5.1'

only_look=0
if [ "${1:-}" = --is-built ]; then only_look=1; shift; fi

# What shows progress never decides: a message that cannot be written, to a terminal that is gone, ends no build.
say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2 || true; }
die() { say "error: $*"; exit 1; }
need() { command -v "$1" >/dev/null 2>&1 || die "\`$1\` is not installed; $2"; }
pins() { cat "$@" | sha256sum | cut -c1-12; }

need_cache() {
  [[ -n ${XDG_CACHE_HOME:-${HOME:-}} && $cache = /* ]] || die "no folder for parts: set HOME, or XDG_CACHE_HOME to an absolute path"
  mkdir -p "$cache" || die "\`$cache\` cannot be created: set XDG_CACHE_HOME to a folder that you may write to"
}

# A full disk fails within the programs that build, with messages that do not say where.
need_space() {
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }') || free= # what cannot be read is tried
  [ "${free:-1000}" -ge 1000 ] || die "\`$cache\` has $free MB of free space, but parts are built with 1,000 MB or more: free some, or set XDG_CACHE_HOME to a folder on a larger disk"
}

# ensure FOLDER BUILDER: runs BUILDER with a temporary folder as its argument unless FOLDER exists; one build at a time.
ensure() {
  local folder=$1 builder=$2
  if [ "$only_look" = 1 ]; then [ -d "$folder" ]; return; fi
  if [ ! -d "$folder" ]; then
    need flock 'it is part of util-linux; parts are built on Linux only'
    need_cache
    need_space
    exec 9>"$folder.lock"
    flock 9
    if [ ! -d "$folder" ]; then
      local part="$folder.part"
      rm -rf "$part"
      mkdir -p "$part"
      local started=$SECONDS
      "$builder" "$part" >&2
      mv "$part" "$folder"
      say "$(basename "$folder") is ready after $((SECONDS - started)) s"
    fi
    exec 9>&-
  fi
  echo "$folder"
}

# apt ARGUMENT…: runs apt-get, and again after an update where the lists of packages are missing or old. One at a time, because tests that run side by
# side install their parts.
apt() {
  need flock 'it is part of util-linux; parts are built on Linux only'
  need_cache
  (
    flock 8
    export DEBIAN_FRONTEND=noninteractive
    local options=(-qq -o DPkg::Lock::Timeout=300)
    apt-get "${options[@]}" "$@" || { apt-get "${options[@]}" update && apt-get "${options[@]}" "$@"; }
  ) 8>"$cache/apt.lock" >&2
}

# unpack_debian PACKAGE: its files in `unpacked`; nothing is installed, so that no service is started.
unpack_debian() {
  apt -o APT::Sandbox::User=root download "$1" || die "apt-get has no package $1; run \`apt-get update\` as root"
  dpkg-deb -x "$1"_*.deb unpacked
  rm "$1"_*.deb
}

# Node's binaries are npm packages, one per platform, with the checksums of node-packages.txt. No install script runs.
build_node() {
  local advice='install Node 18 or newer with npm (https://nodejs.org/)' arch version
  need npm "$advice"
  need node "$advice"
  version=$(node -p process.versions.node)
  [ "${version%%.*}" -ge 18 ] || die "\`node\` is version $version, which is too old to install the Node of olap-warden: $advice"
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) arch=x64 ;;
    Linux-aarch64 | Linux-arm64) arch=arm64 ;;
    *) die "no Node package for $(uname -s) on $(uname -m)" ;;
  esac
  say "installing Node $node_version"
  node "$here/node-package.mjs" "node-linux-$arch" "$node_version" "$1"
}

go_build() { # module folder, output, ldflags, packages…
  local module=$1 out=$2 ldflags=$3
  shift 3
  (cd "$here/$module" && CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath -mod=readonly' nice -n 10 \
    go build -gcflags=all=-dwarf=false -ldflags "-s -w $ldflags" -o "$out" "$@")
}

# Linker flags with the version of Kubernetes programs.
kubernetes_stamp() { # version
  local package minor=${1#v1.}
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf ' -X %s' "$package.gitVersion=$1" "$package.gitMajor=1" "$package.gitMinor=${minor%%.*}" \
      "$package.gitTreeState=clean" "$package.gitCommit=module" "$package.buildDate=1970-01-01T00:00:00Z"
  done
}

build_kubernetes() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  local stamp package
  stamp=$(kubernetes_stamp "$kubernetes_version")
  local n=0
  for package in go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl}; do
    n=$((n + 1))
    say "building $(basename "${package%/v3}") ($n of 4; the first build on a machine takes 5 to 8 minutes in all)"
    case $package in
      */etcd/*) go_build kubernetes "$1/etcd" '' "$package" ;;
      *) go_build kubernetes "$1/" "$stamp" "$package" ;;
    esac
  done
  [ "$("$1/kube-apiserver" --version)" = "Kubernetes $kubernetes_version" ] || die 'kube-apiserver does not report its version'
}

# The version of a pinned module of Kubernetes.
older_kubernetes_version() { # minor version
  sed -n 's/^.*k8s.io\/kubernetes \(v[0-9.]*\).*$/\1/p' "$here/kubernetes/$1/go.mod"
}

build_older_kubernetes() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  local version package newest
  version=$(older_kubernetes_version "$older_minor")
  newest=$("$here/install.sh" kubernetes)
  for package in k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl}; do
    say "building $(basename "$package") $version (the first build takes 5 to 8 minutes in all)"
    go_build "kubernetes/$older_minor" "$1/" "$(kubernetes_stamp "$version")" "$package"
  done
  cp "$newest/etcd" "$1/etcd"
  [ "$("$1/kube-apiserver" --version)" = "Kubernetes $version" ] || die 'kube-apiserver does not report its version'
}

# The parts of a Kubernetes node in addition to the control plane: see test/support/node.ts.
build_node_parts() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  local kubernetes=k8s.io/kubernetes/cmd containerd=github.com/containerd/containerd/v2 plugins=github.com/containernetworking/plugins/plugins
  mkdir -p "$1/cni"
  say 'building kubelet, kube-proxy and kube-scheduler (1 of 3; the first build on a machine takes 2 to 10 minutes in all)'
  go_build kubernetes "$1/" "$(kubernetes_stamp "$kubernetes_version")" $kubernetes/kubelet $kubernetes/kube-proxy $kubernetes/kube-scheduler
  say 'building containerd (2 of 3)'
  go_build containerd "$1/" "-X $containerd/version.Version=$containerd_version" -tags 'no_btrfs no_devmapper no_zfs' \
    $containerd/cmd/containerd $containerd/cmd/ctr $containerd/cmd/containerd-shim-runc-v2
  say 'building the network plugins and the pause image (3 of 3)'
  go_build cni "$1/cni/" '' $plugins/main/bridge $plugins/main/loopback $plugins/ipam/host-local $plugins/meta/portmap
  go_build kubernetes "$1/pause-image/pause" '' ./pause
  "$here/kubernetes/image.sh" "$1/pause-image" "$1/pause.tar" olap-warden.test/pause:1 /pause
  rm -r "$1/pause-image"
}

build_coredns() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  say 'building CoreDNS (the first time 3 to 9 minutes)'
  go_build coredns "$1/" '' github.com/coredns/coredns
}

# runc and the network tools are Debian packages, not in the cache: each call checks them.
need_node_commands() {
  local missing=() pair
  for pair in runc:runc nft:nftables conntrack:conntrack ip:iproute2; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} = 0 ] && return
  local wanted="the packages \`${missing[*]}\`"
  [ "$(id -u)" = 0 ] || die "a node requires $wanted: install them, or run this as root on Debian or Ubuntu"
  command -v apt-get >/dev/null || die "a node requires $wanted, and there is no \`apt-get\`: install them by hand"
  say "installing $wanted"
  apt install -y --no-install-recommends "${missing[@]}" || die "\`apt-get\` failed to install $wanted; see its message above"
}

build_kind() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  say 'building kind (less than a minute)'
  go_build kubernetes/kind "$1/" '' sigs.k8s.io/kind
}

# helm, and the tools to check a chart: kubeconform and helm-unittest.
build_helm() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  say 'building helm, kubeconform and helm-unittest (a minute or two)'
  go_build kubernetes "$1/" "-X helm.sh/helm/v4/internal/version.version=$helm_version" helm.sh/helm/v4/cmd/helm
  go_build helm/kubeconform "$1/" '' github.com/yannh/kubeconform/cmd/kubeconform
  go_build helm/unittest "$1/" '' github.com/helm-unittest/helm-unittest/cmd/helm-unittest
}

build_kube_score() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  say 'building kube-score (less than a minute)'
  go_build helm/kube-score "$1/" '' github.com/zegl/kube-score/cmd/kube-score
}

build_s3() { need go 'install Go 1.26 or newer'; say 'building versitygw'; go_build object-stores/s3 "$1/" '' github.com/versity/versitygw/cmd/versitygw; }
build_gcs() { need go 'install Go 1.26 or newer'; say 'building fake-gcs-server'; go_build object-stores/gcs "$1/" '' github.com/fsouza/fake-gcs-server; }

# The size of a folder in MB; 0 where it does not exist yet. `du` also fails where a file is renamed meanwhile.
megabytes() { du -sm "$1" 2>/dev/null | awk '{ size = $1 } END { print size + 0 }' || true; }

# Prints every 5 s how much has been downloaded. Exits with its parent.
show_growth() { # folder, expected MB
  local before grown
  before=$(megabytes "$1")
  while sleep 5 9>&- >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    grown=$(($(megabytes "$1") - before))
    say "downloaded $grown of about $2 MB ($((grown < $2 ? grown * 100 / $2 : 99)) %)"
  done
}

# download FOLDER MB COMMAND…: runs the command, and shows meanwhile how the folder grows. Only the command decides whether this fails.
download() {
  local folder=$1 expected=$2 watcher status=0
  shift 2
  show_growth "$folder" "$expected" &
  watcher=$!
  "$@" || status=$?
  { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
  return "$status"
}

# Jars from Maven Central. They are copied into the folder of the part, so that it does not depend on ~/.m2.
maven() { # expected MB, pom.xml, output folder, arguments…
  local expected=$1 pom=$2 out=$3
  shift 3
  download "$cache/maven" "$expected" \
    mvn -q -B -f "$pom" -Dmaven.repo.local="$cache/maven" "$@" dependency:copy-dependencies -DoutputDirectory="$out"
}

build_pinot() {
  need java 'install a JDK 17 or newer'
  need mvn 'install Maven 3.8 or newer'
  say "fetching Apache Pinot $pinot_version from Maven Central (230 MB, once)"
  maven 230 "$here/pinot/pom.xml" "$1/lib" || die 'Maven failed to download Pinot; see its message above'
  ls "$1"/lib/pinot-tools-*.jar >/dev/null || die 'Maven downloaded no pinot-tools jar'
}

# The SQL parsers of other versions: <version>/lib for each.
build_pinot_parsers() {
  need java 'install a JDK 17 or newer'
  need mvn 'install Maven 3.8 or newer'
  local version
  for version in $pinot_parser_versions; do
    say "fetching the SQL parser of Apache Pinot $version from Maven Central (100 MB, once)"
    maven 100 "$here/pinot/parsers/pom.xml" "$1/$version/lib" -Dpinot.version="$version" || die 'Maven failed to download it; see its message above'
    ls "$1/$version"/lib/pinot-common-*.jar >/dev/null || die "Maven downloaded no pinot-common jar of $version"
  done
}

# The programs in tools/pinot that run with Pinot's class path.
build_pinot_tools() {
  need javac 'install a JDK 17 or newer'
  local pinot
  pinot=$("$here/install.sh" pinot)
  say 'compiling the cluster runner'
  # A machine without a locale reads source files as ASCII.
  javac -encoding UTF-8 -nowarn -Xlint:none -cp "$pinot/lib/*" -d "$1" "$here"/pinot/*.java
}

# The segments of the sample tables, ready to upload.
build_sample() {
  local node
  node=$("$here/install.sh" node)
  say 'building the sample tables (about 30 s, once)'
  "$node/bin/node" "$here/pinot/build-sample.ts" "$1"
}

# Prometheus and promtool from the Debian package.
build_prometheus() {
  need apt-get 'install Prometheus and promtool 2.42 or newer (https://prometheus.io) in the PATH'
  say 'fetching Prometheus'
  (
    cd "$1"
    unpack_debian prometheus
    mv unpacked/usr/bin/prometheus unpacked/usr/bin/promtool .
    rm -rf unpacked
  )
}

build_alertmanager() {
  need apt-get 'install Alertmanager 0.25 or newer (https://prometheus.io) as `alertmanager` in the PATH'
  say 'fetching Alertmanager'
  (
    cd "$1"
    unpack_debian prometheus-alertmanager
    mv unpacked/usr/bin/prometheus-alertmanager unpacked/usr/share .
    # Debian's build reads its templates from /usr/share.
    cat >alertmanager <<'EOF'
#!/bin/sh
folder=$(dirname "$0")
root=
[ "$(id -u)" = 0 ] || root=--map-root-user
exec unshare $root --mount sh -c 'mount --bind "$0/share" /usr/share && exec "$0/prometheus-alertmanager" "$@"' "$folder" "$@"
EOF
    chmod +x alertmanager
    rm -rf unpacked
  )
}

# A peer of the benchmark.
build_nginx() {
  need apt-get 'install nginx in the PATH'
  say 'fetching nginx'
  (
    cd "$1"
    unpack_debian nginx
    mv unpacked/usr/sbin/nginx .
    rm -rf unpacked
    ./nginx -v
  )
}

# The proxy of the tests of outgoing connections.
build_tinyproxy() {
  need apt-get 'install tinyproxy in the PATH'
  say 'fetching tinyproxy'
  (
    cd "$1"
    unpack_debian tinyproxy-bin
    mv unpacked/usr/bin/tinyproxy .
    rm -rf unpacked
    ./tinyproxy -v
  )
}

# A peer of the benchmark: OPA's evaluator, asked without a server.
build_opa() {
  need go 'install Go 1.26 or newer (https://go.dev/dl/)'
  say 'building the program that asks OPA (less than a minute)'
  go_build opa "$1/opa-peer" '' .
}

# Sets the wall clock of a process that a test runs.
build_faketime() {
  need apt-get 'install Debian, or another system with its packages: libfaketime is preloaded from one of them'
  say 'fetching libfaketime'
  (
    cd "$1"
    unpack_debian libfaketime
    mv unpacked/usr/lib/*/faketime/libfaketime.so.1 .
    rm -rf unpacked
  )
}

# in_path NAME…: prints the path of the first program that is in the PATH.
in_path() {
  local name
  for name in "$@"; do
    if command -v "$name"; then return; fi
  done
  return 1
}

# find_browser VARIABLE PACKAGE OTHER…: a browser for the dashboard tests: the program that VARIABLE names, or the Debian package, or another one in the PATH.
# The package comes first because the tests are developed with it. The tests try the browser before they use it.
find_browser() {
  local variable=$1 package=$2 chosen=${!1:-}
  shift 2
  if [ -n "$chosen" ]; then
    command -v "$chosen" || die "$variable=\`$chosen\` is not a program"
    return
  fi
  if in_path "$package"; then return; fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    [ "$only_look" = 0 ] || exit 1
    say "installing $package (Debian)"
    apt install -y --no-install-recommends "$package" && in_path "$package" && return
    say "\`apt-get\` did not install $package"
  fi
  in_path "$@" || die "no \`$package\` found, and none of \`$*\`: install it, or set $variable to the path of one"
}

case ${1:-} in
  node) ensure "$cache/node-$node_version" build_node ;;
  kubernetes)
    minor=${kubernetes_version%.*}
    older_minor=${2:-${minor#v}}
    if [ "v$older_minor" = "$minor" ]; then
      ensure "$cache/kubernetes-$kubernetes_version-$(pins "$here"/kubernetes/go.{mod,sum})" build_kubernetes
    else
      [ -f "$here/kubernetes/$older_minor/go.mod" ] || die "unknown version \`$older_minor\` of Kubernetes; known: $(cd "$here/kubernetes" && echo 1.*) ${minor#v}"
      ensure "$cache/kubernetes-$(older_kubernetes_version "$older_minor")-$(pins "$here/kubernetes/$older_minor"/go.{mod,sum})" build_older_kubernetes
    fi
    ;;
  node-parts)
    [ "$only_look" = 1 ] || need_node_commands
    ensure "$cache/node-parts-$kubernetes_version-$(pins "$here"/{kubernetes,containerd,cni}/go.{mod,sum} "$here"/kubernetes/{pause/main.go,image.sh})" build_node_parts
    ;;
  coredns) ensure "$cache/coredns-$(pins "$here"/coredns/go.{mod,sum})" build_coredns ;;
  kind)
    [ "$only_look" = 1 ] || docker info >/dev/null 2>&1 || die 'kind requires Docker, but `docker info` fails: install or start Docker'
    ensure "$cache/kind-$(pins "$here"/kubernetes/kind/go.{mod,sum})" build_kind
    ;;
  helm) ensure "$cache/helm-$helm_version-$(pins "$here"/{kubernetes,helm/kubeconform,helm/unittest}/go.{mod,sum})" build_helm ;;
  kube-score) ensure "$cache/kube-score-$(pins "$here"/helm/kube-score/go.{mod,sum})" build_kube_score ;;
  pinot) ensure "$cache/pinot-$pinot_version-$(pins "$here/pinot/pom.xml")" build_pinot ;;
  pinot-parsers) ensure "$cache/pinot-parsers-${pinot_parser_versions// /-}-$(pins "$here/pinot/parsers/pom.xml")" build_pinot_parsers ;;
  pinot-tools) ensure "$cache/pinot-tools-$(pins "$here"/pinot/{pom.xml,*.java})" build_pinot_tools ;;
  sample) ensure "$cache/sample-$(pins "$here"/pinot/{sample-tables.ts,build-sample.ts,SegmentBuilder.java})" build_sample ;;
  s3) ensure "$cache/versitygw-$(pins "$here"/object-stores/s3/go.{mod,sum})" build_s3 ;;
  gcs) ensure "$cache/fake-gcs-server-$(pins "$here"/object-stores/gcs/go.{mod,sum})" build_gcs ;;
  prometheus)
    if command -v promtool >/dev/null && command -v prometheus >/dev/null; then dirname "$(command -v promtool)"; else ensure "$cache/prometheus-debian" build_prometheus; fi ;;
  alertmanager)
    if command -v alertmanager >/dev/null; then dirname "$(command -v alertmanager)"; else ensure "$cache/alertmanager-debian" build_alertmanager; fi ;;
  nginx) if command -v nginx >/dev/null; then dirname "$(command -v nginx)"; else ensure "$cache/nginx-debian" build_nginx; fi ;;
  tinyproxy) if command -v tinyproxy >/dev/null; then dirname "$(command -v tinyproxy)"; else ensure "$cache/tinyproxy-debian" build_tinyproxy; fi ;;
  opa) ensure "$cache/opa-$(pins "$here"/opa/{go.mod,go.sum,main.go})" build_opa ;;
  faketime) ensure "$cache/faketime-debian" build_faketime ;;
  browser) find_browser CHROMIUM chromium-headless-shell chromium chromium-browser google-chrome ;;
  firefox) find_browser FIREFOX firefox-esr firefox ;;
  *) die "unknown part \`${1:-}\`; known: node kubernetes node-parts coredns kind helm kube-score pinot pinot-parsers pinot-tools sample s3 gcs prometheus alertmanager nginx tinyproxy opa faketime browser firefox" ;;
esac
