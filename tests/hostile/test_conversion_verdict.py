"""A conversion that checks finds the files bad that a loader finds bad: Pillow's."""

from pathlib import Path

import pytest

from fastload.conversion import job
from tests.hostile.damage import KINDS
from tests.hostile.verdict import BAD, judged
from tests.hostile.verdict_release import drawn, images


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_what_a_conversion_leaves_out_is_what_pillow_refuses(tmp_path: Path) -> None:
    good = images(None)
    kinds, files = drawn(good, range(5 * len(KINDS)), seed=3)
    kinds, files = (
        [*kinds, "two images", "a second scan"],
        [*files, good[0][:-2] + good[1], good[0][:-2] + good[0][good[0].index(b"\xff\xda") :]],
    )
    (tmp_path / "plain" / "a").mkdir(parents=True)
    for number, data in enumerate(files):
        (tmp_path / "plain" / "a" / f"{number:03}.jpg").write_bytes(data)
    options = job.Options(on_error="skip", workers=1)
    summary = job.run(job.prepare(str(tmp_path / "plain"), str(tmp_path / "shards"), options))
    left_out = {Path(bad.name).name for bad in summary.bad}
    want = {f"{number:03}.jpg" for number, data in enumerate(files) if judged(data)[0] == BAD}
    assert left_out == want, [kinds[int(name[:3])] for name in left_out ^ want]
    assert len(want) > 20
