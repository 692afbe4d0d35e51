#!/bin/sh
# Build with CUDA, run the GPU tests so that none can be skipped, then the GPU benchmark. Needs no network and no root:
# Python with torch, nanobind and pytest; CMake, ninja, nvcc and a C++ compiler; libjpeg-turbo, Highway and xxHash from the
# system or from DIR (see fetch_deps.sh). Nothing is written into the checkout but OUT.
#   benchmarks/gpu/run.sh [--deps DIR] [--out OUT] [--only build|tests|benchmark]
# OUT: test report and rows; default $OUT, else benchmarks/results/gpu. PYTHON: the interpreter, default python3.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v "${PYTHON:-python3}")
deps= out=${OUT:-$root/benchmarks/results/gpu} only=all
while [ $# -gt 0 ]; do
    case $1 in
        --deps) deps=$(cd "$2" && pwd); shift 2 ;;
        --out) out=$2; shift 2 ;;
        --only) only=$2; shift 2 ;;
        *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=${TMPDIR:-/tmp}/fastload-gpu-$(id -u)  # kept between runs: a second build is quick
prefix=$work/deps site=$work/site

unpack() {
    rm -rf "$prefix"
    mkdir -p "$prefix"
    for package in "$deps"/*.deb; do dpkg -x "$package" "$prefix"; done
    libraries=$(dirname "$(find "$prefix" -name 'libhwy.so*' | head -n 1)")  # usr/lib/ARCHITECTURE
    # libjpeg's jconfig.h lies in the architecture's folder, where only the compiler itself would look.
    CPATH=$prefix/usr/include:$prefix/usr/include/$(basename "$libraries")${CPATH:+:$CPATH}
    export CPATH
}

build() {
    # Only the prefix is searched, so that headers and libraries never come from two releases.
    [ -z "$deps" ] || { unpack; set -- "-DCMAKE_PREFIX_PATH=$prefix/usr" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF \
        "-DCMAKE_LIBRARY_ARCHITECTURE=$(basename "$libraries")" "-DCMAKE_INSTALL_RPATH=$libraries"; }
    cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFASTLOAD_CUDA=ON \
        "-DPython_EXECUTABLE=$python" "-DCMAKE_INSTALL_PREFIX=$site" "$@"
    cmake --build "$work/build"
    rm -rf "$site"
    cmake --install "$work/build"
    (cd "$root" && find fastload -name '*.py' -o -name '*.toml') | while read -r file; do
        mkdir -p "$site/$(dirname "$file")"
        cp "$root/$file" "$site/$file"
    done
}

tests() {
    FASTLOAD_REQUIRE=cuda "$python" -m pytest -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider \
        --junit-xml "$out/tests.xml" "$root/tests/gpu"
}

benchmark() {
    "$python" -m benchmarks gpu --results "$out"
}

# Where the checkout has no .git, the caller names the commit.
: "${FASTLOAD_COMMIT:=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)}"
PYTHONPATH=$site:$root PYTHONDONTWRITEBYTECODE=1
export FASTLOAD_COMMIT PYTHONPATH PYTHONDONTWRITEBYTECODE
mkdir -p "$work"
cd "$work"  # not the checkout: its fastload has no CUDA build beside it
status=0
case $only in all | build) build ;; esac
case $only in all | tests) tests || status=$? ;; esac
case $only in all | benchmark) benchmark || status=$? ;; esac
exit $status
