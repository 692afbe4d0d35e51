#!/bin/sh
# Are the tuned kernels bit-equal to the scalar ones on AArch64 (NEON), and are these the same on this machine and there?
# Cross-compiles tests/neon and the kernels and runs them under qemu; on an Arm machine it runs them as they are.
#   tests/neon/run.sh [--install]
# --install: first get what is missing with apt-get (Debian, Ubuntu). TMPDIR: where the build goes, kept between runs.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=${TMPDIR:-/tmp}/fastload-neon-$(id -u)
packages="g++ make libhwy-dev libxxhash-dev"
[ "$(uname -m)" = aarch64 ] || packages="$packages g++-aarch64-linux-gnu qemu-user"
case ${1-} in
    --install)
        sudo=$([ "$(id -u)" = 0 ] || echo sudo)
        $sudo apt-get update
        $sudo apt-get install -y --no-install-recommends $packages ;;
    "") ;;
    *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac

# Headers that are the same for every machine; the rest of this machine's must not be seen by a cross compiler.
mkdir -p "$work/include"
for header in hwy xxhash.h; do
    found=
    for place in ${CPATH:+$(echo "$CPATH" | tr : ' ')} /usr/local/include /usr/include; do
        [ -n "$found" ] || [ ! -e "$place/$header" ] || found=$place/$header
    done
    [ -n "$found" ] || { echo "tests/neon: $header not found; run with --install, or: apt install $packages" >&2; exit 1; }
    ln -sfn "$found" "$work/include/$header"
done

# Built for one instruction set, Highway needs no library. Kernels that call libjpeg or name instruction sets stay out.
build() {  # NAME COMPILER FLAGS
    command -v "$2" >/dev/null || { echo "tests/neon: $2 not found; run with --install, or: apt install $packages" >&2; exit 1; }
    make -s -C "$root" -f tests/neon/Makefile "OUT=$work/$1" "INCLUDE=$work/include" "CXX=$2" "TARGET_FLAGS=$3"
}

if [ "$(uname -m)" = aarch64 ]; then
    build neon "${CXX:-g++}" -march=armv8-a+crypto
    exec "$work/neon/check"
fi
build neon aarch64-linux-gnu-g++ "-march=armv8-a+crypto -static"
build here "${CXX:-g++}" "-march=x86-64-v3 -maes -mpclmul"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) ||
    { echo "tests/neon: qemu-aarch64 not found; run with --install, or: apt install $packages" >&2; exit 1; }
"$work/here/check" >"$work/here.txt" || { cat "$work/here.txt"; exit 1; }
"$qemu" "$work/neon/check" >"$work/neon.txt" || { cat "$work/neon.txt"; exit 1; }
cat "$work/neon.txt"
diff "$work/here.txt" "$work/neon.txt" >&2 || { echo "tests/neon: this machine's pixels are not NEON's" >&2; exit 1; }
echo "every digest is this machine's too"
