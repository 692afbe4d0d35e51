#!/bin/sh
# Build with CUDA, run the GPU tests so that none can be skipped, then every table. Needs no network and no root: Python with what
# fastload depends on (torch, numpy, Pillow, typer, rich), nanobind and pytest, torchvision for the training steps; CMake, ninja, nvcc
# and a C++ compiler; libjpeg-turbo, Highway and xxHash from the system or from DIR (see fetch_deps.sh). A peer that is not installed
# is a row that says so. Nothing is written into the checkout but OUT.
#   benchmarks/gpu/run.sh [--deps DIR] [--data FOLDER] [--out OUT] [--only STEP,STEP,…] [--minutes N]
# STEP: build tests soak sanitizer kernels scaling rates peers step train_resnet50_mild train_resnet50_hot train_resnet18_mild
# train_resnet18_hot. Each ends within N minutes (8) and leaves its report in OUT as it goes: rows in gpu.jsonl, tests in *.xml, every
# step's outcome in steps.jsonl. A step that fails does not stop the next, but for build. Without a GPU each says so in a line (exit 3),
# but for scaling, which needs none.
# FOLDER: of classes, see take_images.sh; without it, generated images. OUT: default $OUT, else benchmarks/results/gpu.
# PYTHON: the interpreter, default python3. FASTLOAD_SOAK: batches of the soak test, default 10,000.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v "${PYTHON:-python3}") || { echo "run.sh: ${PYTHON:-python3} is not found; name the interpreter by PYTHON" >&2; exit 2; }
deps= data= out=${OUT:-$root/benchmarks/results/gpu} minutes=8
known=build,tests,soak,sanitizer,kernels,scaling,rates,peers,step
known=$known,train_resnet50_mild,train_resnet50_hot,train_resnet18_mild,train_resnet18_hot
steps=$known

refuse() {  # WHAT…: wrong arguments
    echo "run.sh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --deps | --data | --out | --only | --minutes) [ $# -gt 1 ] || refuse "$1 has no value (want one); give it" ;;
        *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
    esac
    case $1 in
        --deps | --data) [ -d "$2" ] || refuse "$1: $2 is no folder; check the path" ;;
    esac
    case $1 in
        --deps) deps=$(cd "$2" && pwd) ;;
        --data) data=$(cd "$2" && pwd) ;;
        --out) out=$2 ;;
        --only) steps=$2 ;;
        --minutes) minutes=$2 ;;
    esac
    shift 2
done
for name in $(printf '%s' "$steps" | tr , ' '); do
    case ,$known, in
        *",$name,"*) ;;
        *) refuse "--only: got $name, want steps of $known; choose some" ;;
    esac
done
case $minutes in
    '' | *[!0-9]* | 0* | 1) refuse "--minutes: got $minutes, want a whole number from 2 on; raise it" ;;  # a table stops 110 s before
esac
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
    # This machine's GPU alone, which is quicker to compile for than all.
    cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFASTLOAD_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=native \
        "-DPython_EXECUTABLE=$python" "-DCMAKE_INSTALL_PREFIX=$site" "$@"
    cmake --build "$work/build"
    rm -rf "$site"
    cmake --install "$work/build"
    mkdir -p "$site"
    (cd "$root" && find fastload -name '*.py' -o -name '*.toml' | tar -cf - -T -) | tar -xf - -C "$site"
}

no_gpu() {  # why torch has none, in a line; nothing where it has one
    "$python" - <<'END' 2>&1 | tail -n 1
import sys
try:
    import torch
except ImportError as error:
    sys.exit(f"torch cannot be imported by {sys.executable} ({error}); install it")
if not torch.cuda.is_available():
    try:
        torch.cuda.init()
        why = "torch sees none"
    except Exception as error:
        why = str(error).splitlines()[0].rstrip(".")
    sys.exit(f"{why}; look at nvidia-smi, or leave the step out by --only")
END
}

check() {  # check NAME WHAT…: pytest, its report in OUT/NAME.xml
    name=$1
    shift
    FASTLOAD_REQUIRE=cuda "$python" -m pytest -q -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider \
        --junit-xml "$out/$name.xml" "$@"
}

sanitizer() {
    # Of each kernel some: under the sanitizer a launch takes up to a hundred times as long.
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 9 --log-file "$out/sanitizer-$tool.log" \
            "$python" -m pytest -q -x -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider \
            "$root/tests/gpu" -k "(test_augment and 37 and 53 and instruction) or 13x7 or test_decode or empty" || return
    done
}

table() {
    set -- "$1" ${data:+--data "$data"}
    "$python" -m benchmarks on_gpu --table "$@" --limit $((minutes * 60 - 110)) --results "$out" --json
}

step() {
    case $1 in
        build) build ;;
        tests) check tests "$root/tests/gpu" ;;
        soak) FASTLOAD_SOAK=${FASTLOAD_SOAK:-10000} check soak "$root/tests/gpu/test_streams.py" -k survive ;;
        sanitizer) sanitizer ;;
        kernels) "$python" -m benchmarks gpu --results "$out" --json ;;
        *) table "$1" ;;
    esac
}

# Where the checkout has no .git, the caller names the commit.
: "${FASTLOAD_COMMIT:=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)}"
PYTHONPATH=$site:$root${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
export FASTLOAD_COMMIT PYTHONPATH PYTHONDONTWRITEBYTECODE
mkdir -p "$work"
cd "$work"  # not the checkout: its fastload has no CUDA build beside it

if [ -n "${FASTLOAD_STEP:-}" ]; then
    step "$FASTLOAD_STEP"
    exit
fi
outcome() {  # STEP EXIT SECONDS
    printf '{"step": "%s", "exit": %d, "seconds": %d}\n' "$1" "$2" "$3" >>"$out/steps.jsonl"
}

status=0 lacking=$(no_gpu)
for name in $(printf '%s' "$steps" | tr , ' '); do
    if [ -n "$lacking" ] && [ "$name" != scaling ]; then
        echo "run.sh: $name needs a GPU: $lacking" >&2
        outcome "$name" 3 0
        status=3
        continue
    fi
    began=$(date +%s)
    code=0
    FASTLOAD_STEP=$name timeout --kill-after=10 "${minutes}m" sh "$root/benchmarks/gpu/run.sh" ${deps:+--deps "$deps"} \
        ${data:+--data "$data"} --out "$out" --minutes "$minutes" || code=$?
    outcome "$name" "$code" $(($(date +%s) - began))
    [ "$code" -eq 0 ] || status=$code
    [ "$name" != build ] || [ "$code" -eq 0 ] || exit "$code"
done
exit $status
