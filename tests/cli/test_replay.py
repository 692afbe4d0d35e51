"""replay: each stage of a sample and every draw in words, up to the loader's own pixels."""

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fastload import transforms as T
from fastload.sheets.batch import Epoch, Run, cut
from fastload.sheets.stages import stages
from tests import pillow

from .show_helpers import unmixed, unnormalised


@pytest.mark.parametrize("recipe", ["baseline", "mild", "medium", "hot"])
def test_a_replay_ends_in_what_the_loader_gives(folder, recipe):
    batches = unnormalised(folder, unmixed(recipe), 1, 3, 9)
    made = Epoch(Run(folder, unmixed(recipe), seed=3, epoch=1, batch_size=9))
    for step in (0, 4):
        for number, sample in enumerate(made.step(step).samples.tolist()):
            work, place = made.sample(sample)
            assert (work.step, work.samples[place].tolist()) == (step, [sample])
            (shown,) = made.show(work, place)
            records = [record[0] for record in made.records(cut(work, place), [shown.size])]
            *_, (_, _, last) = stages(made.plan, made.original(sample), records)
            np.testing.assert_array_equal(np.asarray(shown.image), batches[step][number])
            np.testing.assert_array_equal(np.asarray(last), batches[step][number])


@pillow.rounds_twice
def test_mixing_programs_are_replayed_from_their_start(folder):
    """AugMix's rows look back to the image before the program."""
    ops = (
        T.RandomResizedCrop((24, 31)),
        T.RandomApply([T.AugMix(), T.ColorJitter(0.4, hue=0.2)], p=1.0),
        T.ToImage(),
    )
    made = Epoch(Run(folder, replace(unmixed("hot"), train=ops), batch_size=3))
    for sample in range(3):
        work, place = made.sample(sample)
        (shown,) = made.show(work, place)
        records = [record[0] for record in made.records(cut(work, place), [shown.size])]
        *_, (_, _, last) = stages(made.plan, made.original(sample), records)
        np.testing.assert_array_equal(np.asarray(last), np.asarray(shown.image))


def test_replay_says_and_draws_every_stage(run, folder, tmp_path):
    out = str(tmp_path / "one.html")
    done = run("replay", folder, "--sample", "17", "--epoch", "3", "-o", out, "--json", "-")
    assert done.exception is None
    facts = json.loads(done.stdout)
    assert (facts["sample"], facts["class"], facts["epoch"], facts["output"]) == (
        17,
        "class1",
        3,
        out,
    )
    text = Path(out).read_text()
    titles = [part.split("</h2>")[0] for part in text.split("<h2>")[1:]]
    assert titles == [
        "original",
        "RandomResizedCrop",
        "RandomHorizontalFlip",
        "RandAugment",
        "ColOut",
        "result",
    ]
    assert all(html.escape(line["words"]) in text for line in facts["log"])
    plain = run("replay", folder, "--sample", "17", "--epoch", "3")
    assert plain.stdout.splitlines()[2:] == [
        f"{line['op']}: {line['words']}" for line in facts["log"]
    ]
