#!/bin/sh
# The images that the GPU's tables are measured on: every second one of the 1,000 in github.com/EliSchwartz/imagenet-sample-images
# (one JPEG per class of ImageNet, names n01440764_tench.JPEG and so on), as a folder of classes. 500 files, 55 MB.
#   benchmarks/gpu/take_images.sh SRC DST
set -eu
[ $# -eq 2 ] || { echo "usage: $0 SRC DST" >&2; exit 2; }

names=$(find "$1" -name 'n????????_*.JPEG' -printf '%f %p\n' | LC_ALL=C sort | awk 'NR % 2 == 1')
count=$(printf '%s\n' "$names" | wc -l)
[ "$count" -eq 500 ] || { echo "$0: $1 has $count of the images (got every second one, want 500); give all 1,000" >&2; exit 1; }
printf '%s\n' "$names" | while read -r name path; do
    mkdir -p "$2/${name%%_*}"
    cp "$path" "$2/${name%%_*}/$name"
done
