"""The page of formats has every limit of sizes, as the code has it."""

from fastload.sources import sums
from fastload.system import limits
from tests.conftest import TREE

ROWS = {
    "one encoded image, or a file beside it": limits.SAMPLE,
    "all headers of a tar member": limits.TAR_HEADER,
    "the directory of a zip archive": limits.ZIP_DIRECTORY,
    "the footer of a Parquet file": limits.PARQUET_FOOTER,
    "the images of a Parquet row group": limits.PARQUET_GROUP,
    "the JSON in an index": limits.METADATA,
    "a shard, for `verify` and `repair`": limits.SHARD,
    "one value in a `.beton` file": limits.PAYLOAD,
    "one record of a journal": limits.RECORD,
    "a profile as JSON": limits.REPORT,
}


def said(size: int) -> str:
    return f"{size // limits.GIB} GiB" if size % limits.GIB == 0 else f"{size // limits.MIB} MiB"


def test_the_page_has_the_limits_of_the_code() -> None:
    page = (TREE / "docs" / "formats.md").read_text()
    table = page[page.index("## Limits of sizes") :]
    rows = dict(
        line.strip("| ").split(" | ", 1) for line in table.splitlines() if line.startswith("| ")
    )
    assert {what: rows[what] for what in ROWS} == {what: said(size) for what, size in ROWS.items()}
    assert limits.INDEX == limits.TABLES == 16 * limits.GIB
    large = (
        "`index.arrow` where it is read whole, a folder's seek index, the rows and the table of a "
        "`.beton` file"
    )
    assert rows[large] == "16 GiB each"
    blocks = sums.MOST // len(sums.line(0)) * sums.BLOCK
    assert rows["`index.arrow` for a loader, by the blocks in `index.arrow.xxh3`"] == (
        f"{blocks // limits.GIB} GiB"
    )
    times = f"{limits.TIMES} times its bytes; up to {{}} always"
    assert rows["what a sample or a page unpacks to"] == times.format(said(limits.FREE))
    assert rows["what a compressed archive unpacks to, on the disk"] == times.format(
        said(limits.SPOOL_FREE)
    )
    assert (
        rows["the seek index of one image"]
        == f"{limits.SEEK_TIMES} times its bytes, and {limits.SEEK_FREE >> 10} KiB"
    )
    assert rows["a CSV or JSONL file; a line of it"] == f"{said(limits.LIST)}; {said(limits.LINE)}"
    assert (
        rows["rows of a Parquet file"]
        == f"1 for each {limits.PARQUET_ROW} bytes; up to {limits.PARQUET_ROWS:,} always"
    )
    assert limits.NAMES == limits.BAD_LIST == 64 * limits.MIB
    assert rows["a file with names of classes; a list of bad samples"] == "64 MiB each"
