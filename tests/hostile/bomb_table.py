"""The bombs: each format and way, and what is said."""

import inspect
import tarfile
import zipfile

from tests.hostile import bomb_makers as make
from tests.hostile import bombs
from tests.hostile.bomb_makers import GIB, MIB
from tests.hostile.bombs import RIGHT, Bomb

CORRUPT = "Corrupt zip64 end of central directory record"  # newer zipfiles look at its place first
BOMBS: dict[str, Bomb] = {
    "zip: 900 MiB of zeros": Bomb(
        make.zip_bomb(zipfile.ZIP_DEFLATED, make.deflated, 900 * MIB, 900 * MIB),
        bombs.opened,
        "is too large (got 943718400 bytes, want at most 536870912); remove it",
    ),
    "zip: 400 MiB of zeros": Bomb(
        make.zip_bomb(zipfile.ZIP_DEFLATED, make.deflated, 400 * MIB, 400 * MIB),
        bombs.opened,
        "would be unpacked too far (got 419430400 bytes from 414802, want at most 67108864); "
        "remove it",
    ),
    "zip: more than it says, deflate": Bomb(
        make.zip_bomb(zipfile.ZIP_DEFLATED, make.deflated, 512 * MIB, 10),
        bombs.opened,
        "unpacks to over 10 bytes, want 10; restore the archive",
    ),
    "zip: more than it says, bzip2": Bomb(
        make.zip_bomb(zipfile.ZIP_BZIP2, make.bzip2, 64 * MIB, 10),
        bombs.opened,
        "unpacks to over 10 bytes, want 10; restore the archive",
    ),
    "zip: more than it says, lzma": Bomb(
        make.zip_bomb(zipfile.ZIP_LZMA, make.lzma_member, 64 * MIB, 10, flags=2),
        bombs.opened,
        "unpacks to over 10 bytes, want 10; restore the archive",
    ),
    "zip: less than it says": Bomb(
        make.cut_off,
        bombs.opened,
        "is cut off (ends at byte 524288037 of 113); restore the archive",
    ),
    "zip: a directory of 8 GiB": Bomb(
        make.big_directory,
        bombs.opened,
        "{path}: is no zip archive, or damaged (its headers are too large: got 8589933690 bytes, "
        "want at most 268435456); restore it"
        if CORRUPT not in inspect.getsource(zipfile)
        else f"{{path}}: is no zip archive, or damaged ({CORRUPT}); restore it",
    ),
    "tar: a pax header of 8 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x.tar", make.tar_header("p", 7 * GIB, tarfile.XHDTYPE), 8 * GIB
        ),
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 8589934592 (its headers are too "
        "large: got 7516193280 bytes, want at most 1048576); restore it",
    ),
    "tar: a name of 8 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x.tar", make.tar_header("l", 7 * GIB, tarfile.GNUTYPE_LONGNAME), 8 * GIB
        ),
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 8589934592 (its headers are too "
        "large: got 7516193280 bytes, want at most 1048576); restore it",
    ),
    "tar: a name of 100 GiB that is not there": Bomb(
        lambda folder: make.written(
            folder, "x.tar", make.tar_header("l", 100 * GIB, tarfile.GNUTYPE_LONGNAME) + bytes(1024)
        ),
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 1536 (its headers are too large: "
        "got 107374182912 bytes, want at most 1048576); restore it",
    ),
    "tar: names of names": Bomb(
        lambda folder: make.written(
            folder,
            "x.tar",
            (make.tar_header("l", 0, tarfile.GNUTYPE_LONGNAME)) * 3000 + bytes(1024),
        ),
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 1537024 (one member has "
        "thousands of headers); restore it",
    ),
    "tar: 20,000 global attributes": Bomb(
        make.pax_globals,
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 80334336 (its headers are too "
        "large: got 1606656 bytes, want at most 1048576); restore it",
    ),
    "tar: a sparse map of 8 MiB": Bomb(
        make.sparse_map,
        bombs.opened,
        "{path}: is no tar archive, or damaged at byte 0 of 8391178 (its headers are too "
        "large: got 1049088 bytes, want at most 1048576); restore it",
    ),
    "tar: a member of 100 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x.tar", make.tar_header("c/x.jpg", 100 * GIB, tarfile.REGTYPE), 101 * GIB
        ),
        bombs.opened,
        "is too large (got 107374182400 bytes, want at most 536870912); remove it",
    ),
    "tar.gz: 320 MiB of zeros": Bomb(
        make.tar_gz,
        bombs.unpacked,
        "{path}: would be unpacked too far (got 83886080 bytes from 326560, want at most "
        "67108864); remove it",
    ),
    "parquet: an image that is meant 5,000 times": Bomb(
        lambda folder: make.repeated(folder, "image", MIB, 5000),
        bombs.opened,
        "cannot be read (a row group holds too much: got 2179993662 bytes, want at most "
        "2147483648); restore the file",
        400,
    ),
    "parquet: a key that is meant 5,000 times": Bomb(
        lambda folder: make.repeated(folder, "key", MIB, 5000),
        bombs.opened,
        "{path}: labels or keys cannot be read (column key has a value of 1048576 bytes, want at "
        "most 65536); restore the files",
        400,
    ),
    "parquet: a page of 80 MiB": Bomb(
        make.swollen_page,
        bombs.opened,
        "cannot be read (a page would be unpacked too far: got 83886090 bytes from 2592, want at "
        "most 67108864); restore the file",
    ),
    "parquet: a footer of 3 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x.parquet", b"PAR1", 4 * GIB, (3 * GIB).to_bytes(4, "little") + b"PAR1"
        ),
        bombs.opened,
        "{path}: cannot be read (its footer is too large: got 3221225472 bytes, want at most "
        "67108864); restore it",
    ),
    "arrow: a packed image of 400 MiB": Bomb(
        lambda folder: make.arrow_file(folder, [bytes(400 * MIB)], compression="zstd"),
        bombs.opened,
        "{path}: cannot be read (a record batch is too large when it is unpacked: got 419430424 "
        "bytes from 12882, want at most 67108864); restore it",
    ),
    "arrow: a buffer that says 100 GiB": Bomb(
        make.long_buffer,
        bombs.opened,
        "{path}: cannot be read (a record batch is too large when it is unpacked: got "
        "107374182424 bytes from 245, want at most 67108864); restore it",
    ),
    "arrow: a hole of 8 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x.arrow", make.arrow_file(folder, [b"x"]).read_bytes(), 8 * GIB
        ),
        bombs.opened,
        "{path}: cannot be read (got 8589934592 bytes, of which 4096 lie there, the others are a "
        "hole); restore it",
    ),
    "shards: an index of 100 GiB": Bomb(
        make.stretched("index.arrow", 100 * GIB),
        bombs.loaded,
        "{path}/index.arrow: is larger than it can be (got 107374182400 bytes, want at most "
        "65536); restore it, or convert again",
    ),
    "shards: an index of 256 MiB, signed": Bomb(
        make.signed_hole,
        bombs.loaded,
        "{path}/index.arrow: is larger than it can be (got 268435456 bytes, of which 4096 lie "
        "there, the others are a hole); restore it, or convert again",
    ),
    "shards: a checksum file of 100 GiB": Bomb(
        make.stretched("index.arrow.xxh3", 100 * GIB),
        bombs.loaded,
        "{path}/index.arrow: is damaged (checksum got adab22f81932a72d, index.arrow.xxh3 says "
        "'blocks\\nadab22f81932a72d\\nadab22f81932a72d\\n030763788345c6ea\\n"
        "\\x00\\x00\\x00\\x00\\x00\\x00'); restore both, or convert again",
    ),
    "shards: an index that is packed": Bomb(
        make.packed_index,
        bombs.loaded,
        "{path}/index.arrow: is not a fastload index (a record batch is compressed); convert again",
    ),
    "shards: a shard of 100 GiB": Bomb(
        make.stretched("shard-000000.tar", 100 * GIB),
        bombs.verified,
        "ValueError: {path}/shard-000000.tar: cannot be read (is larger than it can be: got "
        "107374182400 bytes, want at most 8589934592); restore it, or convert again",
    ),
    "shards: seek indexes of 100 GiB, used": Bomb(
        make.stretched("shard-000000.seek", 100 * GIB), bombs.loaded, RIGHT
    ),
    "shards: seek indexes of 100 GiB, verified": Bomb(
        make.stretched("shard-000000.seek", 100 * GIB),
        bombs.verified,
        "ValueError: {path}/shard-000000.seek: cannot be read (is larger than it can be: got "
        "107374182400 bytes, want at most 8589934592); run fastload index again",
    ),
    "folder: seek indexes of 100 GiB": Bomb(make.seek_folder("fastload.seek"), bombs.loaded, RIGHT),
    "folder: what says whose they are, of 100 GiB": Bomb(
        make.seek_folder("fastload.seek.arrow"), bombs.loaded, RIGHT
    ),
    "folder: its checksum, of 100 GiB": Bomb(
        make.seek_folder("fastload.seek.arrow.xxh3"), bombs.loaded, RIGHT
    ),
    "folder: verified with an index of 100 GiB": Bomb(
        make.seek_folder("fastload.seek.arrow"),
        bombs.verified,
        "ValueError: {path}/fastload.seek.arrow: is larger than it can be (got 107374182400 "
        "bytes, want at most 17179869184); restore it, or run fastload index again",
    ),
    "log: a record of 8 GiB": Bomb(make.seek_log, bombs.read_log, RIGHT),
    "beton: a table of 3 GiB": Bomb(
        make.beton(make.longer_table),
        bombs.beton_read,
        "{path}: its table has 134217728 payloads (want at most 2 for each of 30 values); write "
        "it again with FFCV, or convert the original data",
    ),
    "beton: 134 million samples": Bomb(
        make.beton(make.more_rows),
        bombs.beton_read,
        "{path}: its rows take more than they can (got 8589934592 bytes, of which 129939 lie "
        "there, the others are a hole); write it again with FFCV, or convert the original data",
    ),
    "journal: a record of 100 GiB": Bomb(
        lambda folder: make.hole(
            folder, "x", b"FASTJRNL" + bytes(8) + (99 * GIB).to_bytes(8, "little"), 100 * GIB
        ),
        bombs.journaled,
        RIGHT,
    ),
    "list: a line of 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.csv", b"path,label\n", 8 * GIB),
        bombs.opened,
        "{path}: cannot be read (a line is longer than 1048576 bytes); write it as UTF-8 with a "
        "row for each image",
    ),
    "list: a line of 8 GiB, JSON": Bomb(
        lambda folder: make.hole(folder, "x.jsonl", b'{"path": "', 8 * GIB),
        bombs.opened,
        "{path}: cannot be read (a line is longer than 1048576 bytes); write it as UTF-8 with a "
        "row for each image",
    ),
    "labels: names of 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.txt", b"a\nb\n", 8 * GIB),
        bombs.labelled,
        "{path}: cannot be read (got over 67108864 bytes, want at most 67108864); give a text file "
        "with a class per line",
    ),
    "recipe: 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.toml", b"", 8 * GIB),
        bombs.recipe,
        "{path}: is too long for a recipe (want up to 65536 bytes); shorten it",
    ),
    "profile: 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.json", b"{}", 8 * GIB),
        bombs.compared,
        "profile: {path}: is no JSON (got over 16777216 bytes, want at most 16777216); give a "
        "report written with --json",
    ),
    "bad samples: a list of 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.jsonl", b"{}\n", 8 * GIB),
        bombs.listed,
        "UserWarning: {path}: bad samples cannot be listed (the list is too large: got "
        "8589934592 bytes, want at most 67108864); give bad_samples=PATH that can be written",
    ),
    "mask: 8 GiB": Bomb(
        lambda folder: make.hole(folder, "x.png", b"", 8 * GIB),
        bombs.masked,
        "OSError: [Errno 27] it is too large: got 8589934592 bytes, want at most 536870912",
    ),
    "folder: an image of 500 MiB that is a hole": Bomb(
        lambda folder: make.hole(make.images(folder), "a/big.jpg", b"\xff\xd8", 500 * MIB).parents[
            1
        ],
        bombs.opened,
        "is too large (got 524288000 bytes, of which 4096 lie there, the others are a hole); "
        "remove it",
    ),
}
