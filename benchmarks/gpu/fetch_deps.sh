#!/bin/sh
# Download the Debian or Ubuntu packages that the native build needs into DIR, for a machine that can fetch nothing:
#   benchmarks/gpu/fetch_deps.sh DIR      here; installs nothing
#   benchmarks/gpu/run.sh --deps DIR      there; must be the same distribution or a newer one, and the same architecture
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }

known() { apt-cache show "$1" >/dev/null 2>&1; }

jpeg=libjpeg62-turbo-dev                       # Debian
known "$jpeg" || jpeg=libjpeg-turbo8-dev       # Ubuntu
for name in "$jpeg" libhwy-dev libxxhash-dev; do
    known "$name" || { echo "$0: package $name is not known to apt; run apt-get update" >&2; exit 1; }
done
# The shared libraries behind the headers, under whatever name this release gives them.
libraries=$(apt-cache depends "$jpeg" libhwy-dev | sed -n 's/^ *Depends: \(lib\(jpeg\|hwy\)[^ ]*\)$/\1/p' | sort -u)

mkdir -p "$1"
cd "$1"
# shellcheck disable=SC2086  # a list of names
apt-get download "$jpeg" libhwy-dev libxxhash-dev $libraries
ls -1 ./*.deb
