#!/usr/bin/env bash
# Fuzz the kernels and the readers: one JSON line per target on stdout, exit 1 if something was found.
#   fuzz/run.sh SECONDS [TARGET...]    seconds per target, as many at once as there are cores; default: all targets
# Kernels (kernels/fuzz, ASan and UBSan): parse, verdict, index, layer, region, transcode, device, augment, page, png, webp. They need Clang with libFuzzer, and a name for
# it in CXX if that is not clang++ or clang++-NN.
# Readers (fuzz/readers.py): tar, arrow, groups, sidecar, beton, recipe, journal, name, state;
# of fuzz/spans.py: tars, mds, litdata, tfrecord, lmdb, parquet, chunk, kept; of fuzz/boxes.py: yolo, data_yaml, lvis, open_images, voc, objects; and values.
# They say how many inputs they have taken whole, and fail if there was none. They need PYTHON (default: python3) with fastload and atheris.
# The corpus grows in build/fuzz/corpus from run to run; what was found lies in build/fuzz/found. Without a target's tools it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?fuzz/run.sh: want SECONDS}
shift
kernels="parse verdict index layer region transcode device augment page png webp"
spans="tars mds litdata tfrecord lmdb parquet chunk kept"
boxes="yolo data_yaml lvis open_images voc objects"
readers="tar arrow groups sidecar beton recipe journal name state $spans $boxes values"
targets=${*:-$kernels $readers}
out=build/fuzz
python=${PYTHON:-python3}
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=3:quarantine_size_mb=16}

is_in() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }

compiler() {
  local name
  for name in ${CXX:-} clang++ clang++-{22,21,20,19,18,17,16,15,14}; do
    if command -v "$name" >/dev/null && echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
      "$name" -x c++ -fsanitize=fuzzer,address - -o "$out/probe" 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

build() {
  local cxx
  cxx=$(compiler)
  [ -n "$cxx" ] || return 1
  { cmake -S . -B $out -DFASTLOAD_FUZZ=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="${cxx/++/}" &&
    cmake --build $out -j "$(nproc)" && $out/fuzz_seeds $out/seeds; } >"$out/build.log" 2>&1 ||
    { tail -n 20 "$out/build.log" >&2; exit 1; }
}

# Files and indexes; augment's programs are short and hold no markers.
options() { [ "$1" = augment ] && echo "-max_len=168" || echo "-dict=kernels/fuzz/jpeg.dict -max_len=2048"; }

# What is opened in place is read thousands of times a second where it is small.
longest() { is_in "$1" "$spans" && echo 8192 || echo 65536; }

# Prints the JSON line; fails if there are findings. TARGET COMMAND...
report() {
  local target=$1 log=$out/$1.log
  shift
  mkdir -p "$out/corpus/$target" "$out/seeds/$target" "$out/found/$target"
  rm -f "$out/$target.taken"
  "$@" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$out/found/$target/" \
    "$out/corpus/$target" "$out/seeds/$target" >"$log" 2>&1 || true
  local runs rate found taken
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  found=$(find "$out/found/$target" -type f ! -name 'slow-unit-*' | wc -l)  # slow ones tell of the machine; a hang is a timeout
  taken=$(cat "$out/$target.taken" 2>/dev/null || echo null)  # whole; kernels do not say
  echo "{\"target\": \"$target\", \"seconds\": $seconds, \"executions\": ${runs:-0}, \"per_second\": ${rate:-0}, \"taken\": ${taken:-0}, \"findings\": $found}"
  [ "$found" = 0 ] && [ "${runs:-0}" != 0 ] && [ "${taken:-0}" != 0 ] || { tail -n 30 "$log" >&2; return 1; }
}

missing() { echo "{\"target\": \"$1\", \"skipped\": \"$2\"}"; }

# `report` in the background, once a core is free for it: all take as long, so the first of them ends first.
start() {
  [ ${#running[@]} -lt "$(nproc)" ] || { wait "${running[0]}" || failed=1; running=("${running[@]:1}"); }
  report "$@" &
  running+=($!)
}

mkdir -p "$out"
failed=0 built= running=()
for target in $targets; do
  if is_in "$target" "$kernels"; then
    [ -n "$built" ] || { build && built=yes || built=no; }
    [ "$built" = yes ] || { missing "$target" "no Clang with libFuzzer"; continue; }
    start "$target" "$out/fuzz_$target" $(options "$target") -timeout=10
  elif is_in "$target" "$readers"; then
    "$python" -c "import atheris" 2>/dev/null || { missing "$target" "no atheris in $python"; continue; }
    "$python" -m fuzz.readers "$target" --seeds "$out/seeds/$target"
    start "$target" "$python" -m fuzz.readers "$target" --taken "$out/$target.taken" -max_len="$(longest "$target")" -timeout=20
  else
    echo "fuzz/run.sh: target $target is unknown (want $kernels $readers)" >&2
    exit 2
  fi
done
for process in ${running[@]+"${running[@]}"}; do wait "$process" || failed=1; done
exit $failed
