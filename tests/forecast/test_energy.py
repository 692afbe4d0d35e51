"""Energy: counters that were made for the test, and the model on watts that were not measured."""

import ctypes
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fastload.errors import UsageError
from fastload.forecast import document, energy, job, kept, lines, machines, page, prices
from fastload.forecast.measuring import NONE, Measured
from fastload.forecast.power import IDLE, Meter, Power, Watts
from fastload.measure import Sample
from fastload.system.energy import Counters, Missing, found
from tests.forecast import made

SPAN = 262_143_328_850  # uJ, as Intel's servers have it


def zone(root: Path, name: str, kind: str, energy_uj: object, span: int = SPAN) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{kind}\n")
    (folder / "max_energy_range_uj").write_text(f"{span}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


def test_packages_and_their_memory_count_once(tmp_path):
    counters = [
        zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000),
        zone(tmp_path, "intel-rapl:1", "package-1-die-0", 7_000_000),
        zone(tmp_path, "intel-rapl:0:2", "dram", 0),
    ]
    others = [
        zone(tmp_path, "intel-rapl:0:0", "core", 0),
        zone(tmp_path, "intel-rapl:2", "psys", 0),
        zone(tmp_path, "intel-rapl-mmio:0", "package-0", 0),
    ]
    (tmp_path / "intel-rapl").mkdir()
    here = found(powercap=str(tmp_path))
    assert here.joules() == {"cpu": 0.0}
    assert here.missing == ()
    for path, value in zip(counters, (6_000_000, 9_000_000, 500_000), strict=True):
        path.write_text(str(value))
    for path in others:
        path.write_text("99000000")
    assert here.joules() == {"cpu": pytest.approx(1.0 + 2.0 + 0.5)}


def test_a_counter_that_begins_anew_goes_on(tmp_path):
    path = zone(tmp_path, "intel-rapl:0", "package-0", 900, span=1000)
    here = found(powercap=str(tmp_path))
    for value, joules in ((100, 200e-6), (50, 1150e-6), (50, 1150e-6), (60, 1160e-6)):
        path.write_text(str(value))
        assert here.joules()["cpu"] == pytest.approx(joules)


def test_what_cannot_be_read_is_told(tmp_path, monkeypatch):
    none = str(tmp_path / "none")
    assert found(powercap=none).missing == (
        Missing("cpu", f"{none} has no package of a CPU; virtual machines often have none"),
    )
    path = zone(tmp_path, "intel-rapl:0", "package-0", "x" * 1000)
    (why,) = found(powercap=str(tmp_path)).missing
    assert str(why) == f"CPUs ({path} has {'x' * 64!r}, want a whole number)"
    path.unlink()
    path.mkdir()  # a test may run as root, whom no mode stops
    (why,) = found(powercap=str(tmp_path)).missing
    assert str(why) == (
        f"CPUs ({path} cannot be read: Is a directory; run as root, or let your user read it)"
    )


class Nvml:
    """The driver's library, played."""

    def __init__(self, begin=0, unknown=0, uncounted=0) -> None:
        self.millijoules, self.unknown, self.uncounted = 1000, unknown, uncounted
        self.begin, self.asked = begin, []

    def nvmlInit_v2(self):  # noqa: N802  the library's own name
        return self.begin

    def nvmlDeviceGetHandleByUUID(self, name, handle):  # noqa: N802
        self.asked.append(name)
        return self.unknown

    def nvmlDeviceGetTotalEnergyConsumption(self, handle, value):  # noqa: N802
        assert isinstance(handle, ctypes.c_void_p)
        value._obj.value = self.millijoules
        return self.uncounted


def test_a_gpus_counter(tmp_path):
    nvml = Nvml()
    here = found(["1a2b"], str(tmp_path), nvml)
    assert nvml.asked == [b"GPU-1a2b"]
    nvml.millijoules += 2500
    assert here.joules() == {"gpu": 2.5}


@pytest.mark.parametrize(
    ("gpus", "nvml", "text"),
    [
        (["1a"], Nvml(begin=9), "GPUs (NVML cannot be used (its error 9))"),
        (["1a"], Nvml(unknown=6), "GPUs (NVML does not know GPU 1a (its error 6))"),
        (["1a"], Nvml(uncounted=3),
         ("GPUs (NVML does not count the energy of GPU 1a (its error 3); GPUs from Volta on do, "
          "parts of one (MIG) do not)")),
        (None, Nvml(), "GPUs (this torch does not tell a GPU's UUID; take a newer one)"),
    ],
)  # fmt: skip
def test_a_gpu_without_a_counter_is_told(tmp_path, gpus, nvml, text):
    assert str(found(gpus, str(tmp_path), nvml).missing[1]) == text


class Played:
    """Counters that have used 10 J each time that they are read."""

    def __init__(self, reads=1000) -> None:
        self.whole, self.left = 0.0, reads

    def joules(self):
        self.whole, self.left = self.whole + 10, self.left - 1
        if self.left < 0:
            raise OSError("gone")
        return self.whole


def metered(counter: Played, monkeypatch) -> tuple[Power, list[str]]:
    times = iter(range(100))
    monkeypatch.setattr("fastload.forecast.power.time.perf_counter", lambda: float(next(times)))
    monkeypatch.setattr("fastload.forecast.power.time.sleep", lambda _: None)
    meter = Meter(Counters({"cpu": [counter]}, (Missing("gpu", "none"),)))
    turns = meter.turns({"loader 64": lambda: 5.0, "one": lambda: 1.0}, 0.1)
    for _ in range(2):
        assert [turn() for turn in turns.values()] == [5.0, 1.0, 0.0]
    return meter.power(), list(turns)


def test_turns_are_metered_and_one_more_rests(monkeypatch):
    power, names = metered(Played(), monkeypatch)
    assert names == ["loader 64", "one", IDLE]
    ten = Sample((10.0, 10.0))  # W: 10 J in a second of the clock
    assert power == Power({"cpu": Watts(ten, {64: ten})}, ("GPUs (none)",))
    assert Meter(NONE).turns({"a": len}, 1.0) == {"a": len}  # nothing rests for nobody


def test_a_counter_that_fails_on_the_way_is_told(monkeypatch):
    power, _ = metered(Played(reads=4), monkeypatch)
    assert power == Power({}, ("GPUs (none)", "CPUs (gone)"))


def sure(value: float) -> Sample:
    return Sample((value,) * 3)


CPU = Watts(sure(100.0), {made.FULL: sure(150.0)}, {made.FULL: sure(110.0)})
GPU = Watts(sure(50.0), {made.FULL: sure(50.0)}, {made.FULL: sure(350.0)})


def used(power: Power | None, **more: object) -> tuple[object, object, Measured]:
    """Of a run on two GPUs here, whose step was measured unless more says otherwise."""
    known = replace(
        made.measured(2000.0), loader={made.FULL: sure(2000.0)}, step={made.FULL: sure(1000.0)},
        power=power,
    )  # fmt: skip
    asked = replace(made.question(2, gpus=2, cores=2), here=True, gpu=None, sizes=(made.FULL,) * 2)
    one = made.forecast(replace(asked, **more), known)
    return one.energy, one.run, known


def test_a_part_takes_its_idle_power_always_and_the_rest_for_each_image():
    found, run, _ = used(Power({"cpu": CPU, "gpu": GPU}))
    run_s, images = run.total.value, 2 * run.images
    cpu = (100 * run_s + images * (50 / 2000 + 10 / 1000)) / energy.KWH
    gpu = (2 * 50 * run_s + images * (0 / 2000 + 300 / 1000)) / energy.KWH
    assert found.parts["cpu"].value == pytest.approx(cpu)
    assert found.parts["gpu"].value == pytest.approx(gpu)
    assert found.kwh.value == pytest.approx(sum(one.value for one in found.parts.values()))
    assert found.kwh.low < found.kwh.value < found.kwh.high


def test_what_was_measured_together_takes_what_it_took():
    both = sure(900.0)
    taken = replace(CPU, together={made.FULL: sure(170.0)})
    known = replace(
        made.measured(2000.0), loader={made.FULL: sure(2000.0)}, step={made.FULL: sure(1000.0)},
        together={made.FULL: both}, power=Power({"cpu": taken}), start=sure(1e-9),
    )  # fmt: skip
    asked = made.question(2, gpus=1, cores=2)
    asked = replace(asked, here=True, gpu=None, sizes=(made.FULL,) * 2, machine=machines.here(1))
    one = made.forecast(asked, known)
    kwh = 170 * 2 * asked.images / 900 / energy.KWH
    assert one.energy.kwh.value == pytest.approx(kwh, rel=1e-6)


def test_parts_that_were_not_measured_are_named():
    asked = made.question(2, gpus=1, cores=2)
    found, _, known = used(Power({"cpu": CPU}, ("CPUs (x)",)), gpu=asked.gpu)
    assert found.missing == ("CPUs (x)", "GPUs (their step was not run)")
    assert set(found.parts) == {"cpu"}
    other = made.forecast(asked, known)
    assert lines.energy(other) == (
        "energy is not known: it is that of the machine that was measured, and this is another"
    )
    assert used(None)[0] == energy.Energy({}, (energy.UNSEEN,))


def test_text_page_and_file_tell_it_and_its_cost(tmp_path):
    _, _, known = used(Power({"cpu": CPU, "gpu": GPU}))
    asked = replace(made.question(2, gpus=2, cores=2, gpu="h100"), here=True, gpu=None)
    one = replace(made.forecast(asked, known), price_energy=0.3)
    said = lines.energy(one)
    kwh, cost = one.energy.kwh, one.energy_cost
    assert cost.value == pytest.approx(0.3 * kwh.value)
    assert said.startswith("energy: ")
    assert said.endswith(" at 0.3 per kWh")
    assert f"  {said}" in lines.lines(one)
    assert " kWh</b>" in page.write(one)
    written = json.loads(json.dumps(document.document(one), allow_nan=False))
    assert written["energy"]["kwh"]["value"] == pytest.approx(kwh.value)
    assert written["energy"]["cost"]["high"] == pytest.approx(0.3 * kwh.high)
    assert list(written["energy"]["parts_kwh"]) == ["cpu", "gpu"]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(written))
    assert kept.load(str(path)).measured == known
    again = kept.forecast(kept.load(str(path)), job.Job(asked.recipe, "", gpus=2, price_energy=0.5))
    assert again.energy_cost.value == pytest.approx(0.5 * again.energy.kwh.value)


def test_files_without_it_are_read(tmp_path):
    written = document.document(made.forecast())
    for name in ("power", "fill_batches", "each_core_img_per_s", "physical_cores", "ahead_batches",
                 "closing_s"):  # fmt: skip
        del written["measured"][name]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(written))
    measured = kept.load(str(path)).measured
    assert (measured.power, measured.fill, measured.each_core, measured.closing) == (None,) * 4
    assert measured.used_cores == measured.used


@pytest.mark.parametrize("text", ["0.30", "0/kWh", "-1/kWh", "1/h", "one/kWh", f"{10**400}/kWh"])
def test_a_price_that_is_none_is_refused(text):
    with pytest.raises(UsageError) as caught:
        prices.per_kwh(text)
    assert str(caught.value) == (
        f"plan: --price-energy is {text!r}, want a number above 0 per kWh; write "
        "--price-energy 0.30/kWh"
    )
    assert prices.per_kwh("0.30/kWh") == 0.3
