#!/usr/bin/env bash
# image.sh FOLDER OUT.tar NAME:TAG COMMAND… — packs a folder as the root file system of an OCI image archive, without any container tool.
# COMMAND is the image's entry point, which runs as nobody. Times, owners and modes are fixed and names sorted, so that the same files give the same digest.
set -euo pipefail

folder=$(realpath "$1") out=$(realpath -m "$2") name=$3
shift 3
entrypoint=$(printf ',"%s"' "$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/image/blobs/sha256"
cd "$work/image"

# Every user of the image may read its files, whatever the umask of this machine is.
fixed_tar() { tar --sort=name --mtime=@0 --owner=0 --group=0 --mode=u=rwX,go=rX --numeric-owner --format=gnu "$@"; }
# add_blob FILE MEDIA_TYPE: moves the file among the blobs and prints its descriptor, without the closing brace.
add_blob() {
  local digest
  digest=$(sha256sum "$1" | cut -d' ' -f1)
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s' "$2" "$digest" "$(stat -c %s "$1")"
  mv "$1" "blobs/sha256/$digest"
}

case $(uname -m) in x86_64) architecture=amd64 ;; aarch64 | arm64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
platform="\"architecture\":\"$architecture\",\"os\":\"linux\""
fixed_tar -cf "$work/layer.tar" -C "$folder" .
layer_digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
printf '{%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"config":{"Entrypoint":[%s],"User":"65532:65532"}}' \
  "$platform" "$layer_digest" "${entrypoint#,}" >"$work/config.json"
layer=$(add_blob "$work/layer.tar" layer.v1.tar)
config=$(add_blob "$work/config.json" config.v1+json)
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s}]}' \
  "$config" "$layer" >"$work/manifest.json"
manifest=$(add_blob "$work/manifest.json" manifest.v1+json)
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,"platform":{%s},"annotations":{"io.containerd.image.name":"%s"}}]}' \
  "$manifest" "$platform" "$name" >index.json
printf '{"imageLayoutVersion":"1.0.0"}' >oci-layout
fixed_tar -cf "$out" oci-layout index.json blobs
