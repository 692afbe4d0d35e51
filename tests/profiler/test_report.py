"""What people and programs read: the text and the JSON of a made-up profile."""

from dataclasses import replace

import pytest

from fastload.measure import Sample
from fastload.profiler.cold import Reading
from fastload.profiler.evidence import Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.remedies import Alternative, Priced
from fastload.profiler.render import MAX_LINES
from fastload.profiler.report import Report
from fastload.profiler.sizes import AtSize
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.verdict import decide

STAGES = (
    StageCost("read", 0.0004, 0.0001),
    StageCost("decode", 0.0021, 0.002),
    StageCost("store", 0.0009, 0.0009),
)
SLOW = Rungs(Sample((3000.0,) * 3), Sample((600.0, 606.0, 594.0)), Sample((590.0, 588.0, 592.0)))
FAST = Rungs(Sample((250.0,) * 3), Sample((600.0, 606.0, 594.0)), Sample((249.0, 249.5, 249.2)))
MACHINE = {"cpu": "Test CPU", "usable_cores": 2}
WHY = ("backend native cannot run this plan: op 3 (X) is not written natively",)
SETTING = Setting("hot", "/data", 1000, "torch", WHY, 2, 16, 167, 167, "cpu")


def priced(name: str, rate: float) -> Priced:
    return Priced(
        Alternative(name, "none: the same ops", "native", ()),
        Sample((rate,) * 3),
        Sample((600.0,) * 3),
    )


REPORT = Report(
    decide(SLOW, STAGES), SLOW, StepFacts("emulated", 3000.0, "ESTIMATE for one X"), SETTING,
    MACHINE, 12.4, STAGES, "made up",
    (priced("backend native", 1500.0), priced("backend other", 300.0)), ("MixUp (alpha 0.25)",
    "EMA"), ("cold page cache",),
    (AtSize(96, 0.25, Sample((700.0,) * 3), 9000.0), AtSize(167, 0.75, Sample((600.0,) * 3),
    3000.0)),
)  # fmt: skip

TEXT = """\
VERDICT  CPU-BOUND: decode   stall 80.3 % [80.3, 80.4]   AU 20 % (MLPerf Storage asks 90 %)   HIGH
DO       Backend native: predicted 1,439 images/s (1,412 to 1,468), 2.4 times today's 590.
         The GPU waits 80 % of the time; this loader gives 20 % of what it could take. \
The stage that takes the most CPU time is decode.
         The training step was EMULATED: a clock at 3,000 images/s. No GPU did any work.
         ESTIMATE for one X

images/s       median       range of 3
step alone      3,000   3,000 to 3,000
loader alone      600       594 to 606
training          590       588 to 592   98 % of the slower one alone
recipe hot, 1,000 images, 167x167 px, batch 16, backend torch, 2 workers, 2 cores (Test CPU), 12 s

stage    CPU ms/image   share   waiting ms   limit images/s
read            0.100     3 %        0.300            5,000   █
decode          2.000    67 %        0.100            1,000   █████████████
store           0.900    30 %        0.000            2,220   ██████
Stages: made up.
At 3 ms of CPU per image, 3,000 images/s take 9.0 such cores (computed).

size     of the epochs   step images/s   loader images/s   training at best   GPU waits
96 px             25 %           9,000               700                700        92 %
167 px            75 %           3,000               600                600        80 %
Over all epochs the GPU waits 83 % of the time, at best (step: computed from its rate at \
full size, the same cost per pixel).

WHAT WOULD HELP           loader images/s      training, predicted   cost
backend native    1,500 (2.5x [2.5, 2.5])   1,439 (1,412 to 1,468)   none: the same ops
Tried, no clear gain: backend other, 300 (0.5x [0.5, 0.5]) images/s.

Backend native cannot run this plan: op 3 (X) is not written natively.
Not included: MixUp (alpha 0.25); EMA.
Not measured: cold page cache."""

KEYS = """\
schema
verdict.label
verdict.stage
verdict.severity
verdict.stall_share.value
verdict.stall_share.ci95_low
verdict.stall_share.ci95_high
verdict.accelerator_utilisation_share
verdict.headroom_gpus.value
verdict.headroom_gpus.ci95_low
verdict.headroom_gpus.ci95_high
verdict.overlap_share
advice
step.kind
step.assumed_img_per_s
step.note
setting.recipe
setting.data
setting.images
setting.backend
setting.why_backend
setting.workers
setting.batch_size
setting.height_px
setting.width_px
setting.device
replicates.step_img_per_s
replicates.loader_img_per_s
replicates.training_img_per_s
evidence.starved_share
evidence.waiting_in_slowest_tenth_share
evidence.late_batches_share
evidence.straggler_rank
evidence.step_with_copies_img_per_s
evidence.step_beside_loader_img_per_s
evidence.loader_without_copies_img_per_s
evidence.step_in_turns_img_per_s
evidence.waiting_for_store_share
interference
store
stages.name
stages.wall_us_per_img
stages.cpu_us_per_img
stages.blocked_us_per_img
stages_how
sizes.size_px
sizes.epochs_share
sizes.loader_img_per_s
sizes.step_img_per_s
sizes.training_at_best_img_per_s
sizes.stall_at_best_share
workers.workers
workers.loader_img_per_s
cuts
reading.images
reading.cold_us_per_img
reading.warm_us_per_img
reading.bytes_per_img
backend_to_use
remedies.name
remedies.backend
remedies.cost
remedies.worth_it
remedies.loader_img_per_s
remedies.loader_now_img_per_s
remedies.speedup.value
remedies.speedup.ci95_low
remedies.speedup.ci95_high
remedies.predicted_training_img_per_s
remedies.predicted_training.value
remedies.predicted_training.ci95_low
remedies.predicted_training.ci95_high
remedies.verified_training_img_per_s
offers.name
offers.how
offers.cost
offers.basis
offers.worth_it
offers.same_training
offers.training_img_per_s.value
offers.training_img_per_s.ci95_low
offers.training_img_per_s.ci95_high
offers.times_today.value
offers.times_today.ci95_low
offers.times_today.ci95_high
unpriced
tried
not_included
not_measured
machine.cpu
machine.usable_cores
profile_s"""


def keys(value: object, prefix: str = "") -> list[str]:
    """Dotted names of all leaves; a list of tables stands for its first one."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return [prefix]
    return [
        name
        for key, inner in value.items()
        for name in keys(inner, f"{prefix}.{key}" if prefix else key)
    ]


def test_the_text():
    assert str(REPORT) == TEXT


def test_a_fast_loader_needs_no_advice():
    lines = str(
        replace(REPORT, rungs=FAST, verdict=decide(FAST, STAGES), remedies=(), stages=())
    ).splitlines()
    assert (
        lines[0]
        == "VERDICT  GPU-BOUND   stall 0.3 % [0.2, 0.4]   AU 100 % (MLPerf Storage asks 90 %)   OK"
    )
    assert (
        lines[2]
        == "         The GPU is the limit; this loader could feed 2.4 such GPUs. A faster data "
        "path would gain nothing."
    )
    assert not any("WHAT WOULD HELP" in line for line in lines)


def asked(name: str, rate: float) -> Priced:
    return Priced(
        Alternative(f"backend {name}", "none: the same ops", name, (), asked=True),
        Sample((rate,) * 3),
        Sample((600.0,) * 3),
    )


@pytest.mark.parametrize(
    ("others", "use", "line"),
    [
        (
            (asked("a", 900.0), asked("b", 1200.0)),
            "b",
            "BACKEND TO USE  b: 2x the images/s [2, 2] of torch",
        ),
        (
            (asked("a", 300.0), asked("b", 120.0)),
            "torch",
            "BACKEND TO USE  torch: a comes next with 0.5x the images/s [0.5, 0.5]",
        ),
        (
            (asked("a", 620.0),),
            "torch",
            "BACKEND TO USE  torch: a comes next with 1x the images/s [1, 1]",
        ),
        ((priced("without X", 6000.0),), None, None),
    ],
)
def test_the_backend_to_use_is_the_fastest_that_was_asked_for(others, use, line):
    report = replace(REPORT, remedies=(*others, priced("without Y", 9000.0)))
    assert [found for found in str(report).splitlines() if found.startswith("BACKEND TO USE")] == (
        [line] if line else []
    )
    assert report.to_json()["backend_to_use"] == use


def test_a_noisy_machine_is_named():
    noisy = replace(REPORT, rungs=replace(SLOW, loader=Sample((600.0, 900.0, 500.0))))
    assert (
        "NOISY: the loader alone varied by 67 % from run to run; is other work on this machine?"
        in str(noisy).splitlines()
    )


@pytest.mark.long
def test_a_report_is_never_longer_than_40_lines():
    endless = replace(REPORT, remedies=tuple(priced(f"backend {n}", 900.0) for n in range(60)))
    lines = str(endless).splitlines()
    assert len(lines) == MAX_LINES == 40
    assert lines[-1] == "Not measured: cold page cache."  # what a reader must know stays
    assert "... (the rest is in --html and --json)" in lines


@pytest.mark.parametrize(
    ("cold", "lines"),
    [
        (
            0.002,
            [
                "cold, 500 images/s per thread.",
                (
                    "READ-BOUND until the data are cached: 2 threads read 1,000 images/s at most "
                    "(computed)."
                ),
            ],
        ),
        (
            0.0005,
            ["cold, 2,000 images/s per thread."],
        ),  # 4,000 by two threads: more than the step takes
    ],
)
def test_a_cold_page_cache_that_would_be_the_limit_is_said(cold, lines):
    text = str(replace(REPORT, reading=Reading(256, 2e5, cold, 0.0001))).splitlines()
    place = next(
        number for number, line in enumerate(text) if line.startswith("Reading, one thread")
    )
    assert text[place].endswith(lines[0])
    assert [line for line in text if line.startswith("READ-BOUND")] == lines[1:]


def test_the_json_has_these_keys_and_no_others():
    more = replace(
        REPORT, workers=(AtWorkers(2, Sample((1.0,))),), reading=Reading(3, 2e5, 0.002, 0.001)
    )
    document = more.to_json()
    assert keys(document) == KEYS.splitlines()
    assert document["schema"] == "fastload.profile/1"
