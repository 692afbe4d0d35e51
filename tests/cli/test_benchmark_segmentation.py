"""`python -m benchmarks segmentation`."""

import json

import numpy as np
import pytest

torchvision = pytest.importorskip("torchvision")


@pytest.mark.long
def test_the_segmentation_benchmark_compares_presets(command, folder, tmp_path):
    given = ["--data", folder, "--workers", "1", "--presets", "train", "--images", "8"]
    given += ["--repetitions", "1", "--json", "--results", str(tmp_path)]
    done = command("-m", "benchmarks", "segmentation", *given)
    assert done.returncode == 0, done.stderr
    stock, ours = (json.loads(line) for line in done.stdout.splitlines())
    assert (stock["ratio"], stock["settings"]["preset"]) == (None, "train")
    assert ours["reference"] == stock["variant"]
    assert ours["median"] > 0
    assert (tmp_path / "segmentation.jsonl").exists()


def test_its_masks_have_classes_and_edges():
    from benchmarks.loaders import segmentation

    made = segmentation.mask(3, 90, 60)
    assert (made.mode, made.size) == ("P", (90, 60))
    values = set(np.unique(np.asarray(made)).tolist())
    assert {0, segmentation.EDGE} < values <= {segmentation.EDGE, *range(21)}


def test_too_few_images_are_refused():
    from benchmarks.loaders import presets, segmentation
    from fastload.errors import UsageError

    with pytest.raises(UsageError) as error:
        segmentation.KIND.check(presets.Settings(("train",), images=7))
    assert str(error.value) == (
        "benchmarks: segmentation: --images is 7 (want 8 or more); an epoch has whole batches"
    )
