"""Make third_party/NAME-VERSION.tar.xz from the archive of a library's source.

    python third_party/pack.py NAME ARCHIVE

Keeps only what the build and the licences need (KEEP below), so that the source distribution stays
small. No file is changed. The same input gives the same bytes (with the same liblzma), and
`sbom.cdx.json` holds the checksums of both archives. A new version: change its entry there first,
then run this.
"""

from __future__ import annotations

import fnmatch
import hashlib
import io
import json
import lzma
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
SBOM = HERE / "sbom.cdx.json"

# By name: patterns of the files to keep, and of those among them to leave out.
KEEP = {
    "libjpeg-turbo": """
        CMakeLists.txt LICENSE.md README.ijg cmakescripts/* release/*.in src/*.c src/*.h src/*.in
        simd/CMakeLists.txt simd/jsimd.h simd/arm/* simd/nasm/* simd/x86_64/*""",
    "libdeflate": """
        COPYING common_defs.h libdeflate.h lib/adler32.c lib/crc32* lib/deflate_decompress.c
        lib/decompress_template.h lib/deflate_constants.h lib/utils.c lib/zlib_decompress.c
        lib/zlib_constants.h lib/lib_common.h lib/cpu_features_common.h lib/arm/* lib/x86/*""",
    "libwebp": """
        COPYING PATENTS src/dec/*.[ch] src/dsp/*.[ch] src/utils/*.[ch] src/webp/*.h
        src/enc/histogram_enc.h src/enc/backward_references_enc.h""",
    "highway": "LICENSE LICENSE-BSD3 hwy/*.h hwy/targets.cc hwy/abort.cc hwy/per_target.cc",
    "xxhash": "LICENSE xxhash.h",
}
LEAVE = {
    "libjpeg-turbo": """
        src/md5/* src/tj* src/turbojpeg* src/?jpeg*.c src/jpegtran.c src/rd* src/wr[bgjpt]* src/cd*
        src/*test.c src/example.c src/transupp.* simd/arm/aarch32/* cmakescripts/t*""",
    "libdeflate": "lib/*/matchfinder_impl.h",
    "libwebp": """
        src/*mips* src/*msa* src/dec/Makefile* src/dsp/cost* src/dsp/enc* src/dsp/lossless_enc*
        src/dsp/ssim* src/utils/*writer* src/utils/huffman_encode* src/webp/config.h.in
        src/utils/quant_levels_utils*""",
    "highway": "hwy/contrib/* hwy/tests/* hwy/examples/* hwy/ops/wasm* hwy/ops/loong*",
    "xxhash": "",
}


def wanted(name: str, path: str) -> bool:
    keep, leave = (
        any(fnmatch.fnmatchcase(path, pattern) for pattern in table[name].split())
        for table in (KEEP, LEAVE)
    )
    return keep and not leave


def component(name: str) -> dict[str, object]:
    for entry in json.loads(SBOM.read_text())["components"]:
        if entry["name"] == name:
            return entry
    raise SystemExit(f"{SBOM.name}: no component {name}")


def check(what: str, data: bytes, expected: object) -> None:
    got = hashlib.sha256(data).hexdigest()
    if got != expected:
        raise SystemExit(f"{what}: SHA-256 differs (got {got}, want {expected}); see {SBOM.name}")


def packed(name: str, version: str, source: bytes) -> bytes:
    """The tar.xz: sorted names, no times, no owners."""
    out = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(source)) as old,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            path = member.name.partition("/")[2]
            if not member.isfile() or not wanted(name, path):
                continue
            plain = tarfile.TarInfo(f"{name}-{version}/{path}")
            plain.size, plain.mode = member.size, 0o644
            new.addfile(plain, old.extractfile(member))
    return lzma.compress(out.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def main(name: str, archive: str) -> None:
    entry = component(name)
    source = Path(archive).read_bytes()
    check(archive, source, entry["externalReferences"][0]["hashes"][0]["content"])
    target = HERE / f"{name}-{entry['version']}.tar.xz"
    target.write_bytes(packed(name, entry["version"], source))
    print(f"{target.name}: {target.stat().st_size} bytes")
    check(target.name, target.read_bytes(), entry["hashes"][0]["content"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KEEP:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
