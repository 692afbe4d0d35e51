"""`python -m benchmarks detection`."""

import json

import pytest


@pytest.mark.long
@pytest.mark.parametrize("preset", ["hflip", "mosaic", "mixup", "copypaste"])
def test_the_detection_benchmark_compares_presets(command, folder, tmp_path, preset):
    pytest.importorskip("torchvision")
    pytest.importorskip("pycocotools", reason="torchvision's CocoDetection needs pycocotools")
    given = ["--data", folder, "--workers", "1", "--presets", preset, "--images", "4"]
    given += ["--repetitions", "1", "--json", "--results", str(tmp_path)]
    done = command("-m", "benchmarks", "detection", *given)
    assert done.returncode == 0, done.stderr
    stock, ours = (json.loads(line) for line in done.stdout.splitlines())
    assert (stock["ratio"], stock["settings"]["preset"]) == (None, preset)
    assert ours["reference"] == stock["variant"]
    assert ours["median"] > 0
    assert (tmp_path / "detection.jsonl").exists()
