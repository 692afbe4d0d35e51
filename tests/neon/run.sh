#!/bin/sh
# Are the tuned kernels bit-equal to the scalar ones on AArch64 (NEON), and do both machines make the same bits?
# Cross-compiles the kernels and tests/neon, runs them under qemu, and compares the digests with those of this machine.
# On an Arm machine: builds and runs them as they are. Needs no root once the packages are there, and no Python.
#   tests/neon/run.sh [--install]
# --install: first get the packages (Debian 12, Ubuntu 24.04 or newer). TMPDIR: where the build goes, kept between runs.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=${TMPDIR:-/tmp}/fastload-neon-$(id -u)
here=$(uname -m)
packages="g++ make libhwy-dev libxxhash-dev"
[ "$here" = aarch64 ] || packages="$packages g++-aarch64-linux-gnu qemu-user"

missing() {
    echo "tests/neon: $1 not found; run tests/neon/run.sh --install, or: apt install $packages" >&2
    exit 1
}

case ${1-} in
    --install)
        sudo=$([ "$(id -u)" = 0 ] || echo sudo)
        $sudo apt-get update
        $sudo apt-get install -y --no-install-recommends $packages ;;
    "") ;;
    *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
command -v make >/dev/null || missing make

# Headers that are the same for every machine; the rest of this machine's must not be seen by a cross compiler.
mkdir -p "$work/include"
for header in hwy xxhash.h; do
    [ -e "/usr/include/$header" ] || missing "$header"
    ln -sfn "/usr/include/$header" "$work/include/$header"
done

build() {  # name, compiler, its flags
    command -v "$2" >/dev/null || missing "$2"
    make -s -C "$root" -f tests/neon/Makefile "OUT=$work/$1" "INCLUDE=$work/include" "CXX=$2" "TARGET_FLAGS=$3"
}

run() {  # name, command
    name=$1
    shift
    "$@" >"$work/$name.txt" || { cat "$work/$name.txt"; echo "tests/neon: scalar and tuned differ, or it crashed" >&2; exit 1; }
}

if [ "$here" = aarch64 ]; then
    build neon "${CXX:-g++}" -march=armv8-a+crypto
    exec "$work/neon/check"
fi
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || missing qemu-aarch64
build neon aarch64-linux-gnu-g++ "-march=armv8-a+crypto -static"
run neon "$qemu" "$work/neon/check"
cat "$work/neon.txt"
[ "$here" = x86_64 ] || exit 0
build here "${CXX:-g++}" "-march=x86-64-v2 -maes -mpclmul"
run here "$work/here/check"
diff "$work/here.txt" "$work/neon.txt" >&2 || { echo "tests/neon: the two machines make different bits" >&2; exit 1; }
echo "the same digests on this machine"
