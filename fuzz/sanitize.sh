#!/usr/bin/env bash
# The kernels' tests with AddressSanitizer and UndefinedBehaviorSanitizer: any report ends the run.
#   fuzz/sanitize.sh [PYTEST'S ARGUMENTS]     default: tests/kernels and what of tests/hostile runs kernels, in JOBS processes
# JOBS (default: all cores) is also what the build takes.
# PYTHON (default: python3) has what the tests need. Builds into build/sanitize with CXX (default: g++), beside the ordinary extension.
# SANITIZE=thread: ThreadSanitizer, and the tests of threads, into build/sanitize-thread. What a Python without a GIL does
# inside its locks is seen only where it is built --with-thread-sanitizer too.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
cxx=${CXX:-g++}
library() { "$cxx" -print-file-name="lib$1.so"; }
if [ "${SANITIZE:-}" = thread ]; then
  out=build/sanitize-thread kind=THREAD preload=$(library tsan)
  [ $# -gt 0 ] || set -- tests/kernels/test_threads.py tests/loader/test_threads.py tests/kernels/test_pool.py
else
  out=build/sanitize kind=ON preload="$(library asan) $(library ubsan)"
  [ $# -gt 0 ] || set -- -n "$jobs" tests/kernels tests/hostile/test_jpegs.py tests/hostile/test_lying_index.py
fi
python=$(command -v "${PYTHON:-python3}")
cmake -S . -B $out -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$cxx" -DPython_EXECUTABLE="$python" -DFASTLOAD_CUDA=OFF \
  -DFASTLOAD_SANITIZE=$kind -DFASTLOAD_TEST_MODULES=ON
cmake --build $out -j "$jobs"

# A package beside the ordinary one, with the same Python files.
rm -rf $out/package
mkdir -p $out/package/fastload
for entry in fastload/*; do
  case $entry in *.so | *__pycache__) ;; *) ln -s "$PWD/$entry" $out/package/fastload/ ;; esac
done
for module in $out/_*.so; do ln -s "$PWD/$module" $out/package/fastload/; done

export PYTHONPATH="$PWD/$out/package:$PWD" PYTHONSAFEPATH=1  # the checkout, where we are, would come before it
taken=$(LD_PRELOAD="$preload" TSAN_OPTIONS=exitcode=0 setarch -R "$python" -c 'import fastload._native; print(fastload._native.__file__)')
case $taken in
  "$PWD/$out"/*) ;;
  *) echo "$python takes another fastload: $taken (want $PWD/$out); give one into which fastload is not installed, editable or not" >&2; exit 1 ;;
esac

# Python itself never frees some of its memory, so leaks are not looked for. ThreadSanitizer wants memory where it is without
# randomisation (setarch -R), and would end every child of a process that has threads. A pool that somebody still holds when
# Python ends is not joined: its threads have ended, which ThreadSanitizer would call a leak.
LD_PRELOAD="$preload" TSAN_OPTIONS=halt_on_error=1:exitcode=66:die_after_fork=0:report_thread_leaks=0:suppressions=$PWD/fuzz/thread_sanitizer.supp \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  setarch -R "$python" -m pytest -q -p no:cacheprovider "$@"
