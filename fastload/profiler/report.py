"""The result of a profile, and its JSON form: schema fastload.profile/1.

Units are in the names, null is "not measured".
"""

from fastload.measure import Interval
from fastload.profiler import interference, render, stored
from fastload.profiler.advice import advice
from fastload.profiler.cold import Reading
from fastload.profiler.cuts import Cut
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.findings import Findings, Setting, StepFacts
from fastload.profiler.offers import Offer, offers
from fastload.profiler.overlap import overlap
from fastload.profiler.remedies import Priced, fastest
from fastload.profiler.sizes import AtSize
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.tried import Tried
from fastload.profiler.unpriced import Unpriced
from fastload.profiler.verdict import Verdict
from fastload.spec import Json

SCHEMA = "fastload.profile/1"


class Report(Findings):
    """Findings as text and as a document.

    The profiler makes it: `str(report)` is what the command line prints, `report.to_json()` what
    `--json` gives.

    Args:
        verdict: What limits the training, and how much.
        rungs: Rates of the step alone, the loader alone and the training.
        step: What the step is.
        setting: Recipe, data set, backend, batch size, workers.
        machine: The machine's facts.
        seconds: That the profile took.
        stages: CPU time of each stage of the loader.
        stages_how: How the stages were measured.
        remedies: What would help, each with its price.
        not_included: What the rates leave out.
        not_measured: What was not measured, and why.
        sizes: Rates at the sizes of a schedule.
        evidence: What the verdict stands on.
        workers: Rates by the number of workers.
        reading: Rates of cold and warm reads.
        cuts: Rates of the loader with a stage left out.
        tried: What was found of fastload's loader in the profiled command.
        taken: What the loader takes from the training's process.
        foreseen: What would help the profiled command, predicted from what was seen.
        unpriced: What may help and was not tried, each with the reason.
        store: What the store gave that the data lie in.

    Example:
        >>> from fastload import profiler
        >>> def limits(report: profiler.Report) -> str:
        ...     return report.to_json()["verdict"]["label"]
    """

    def __str__(self) -> str:
        return "\n".join(render.lines(self))

    def to_json(self) -> Json:
        """A document of plain values.

        Replicates are kept raw, so that others can compute their own intervals.
        """
        return {
            "schema": SCHEMA,
            "verdict": _verdict(self.verdict, self.rungs),
            "advice": advice(self) or None,
            "step": _step(self.step),
            "setting": _setting(self.setting),
            "replicates": _replicates(self.rungs),
            "evidence": _evidence(self.evidence),
            "interference": interference.as_json(self.taken),
            "store": stored.as_json(self.store),
            "stages": [_stage(stage) for stage in self.stages] or None,
            "stages_how": self.stages_how or None,
            "sizes": [_size(at) for at in self.sizes] or None,
            "workers": [_workers(at) for at in self.workers] or None,
            "cuts": [_cut(cut) for cut in self.cuts] or None,
            "reading": _reading(self.reading) if self.reading else None,
            "backend_to_use": fastest(self.remedies, self.setting.backend or "")[0] or None,
            "remedies": [_remedy(priced, self.rungs) for priced in self.remedies] or None,
            "offers": [_offer(offer) for offer in offers(self)] or None,
            "unpriced": [_unpriced(one) for one in self.unpriced] or None,
            "tried": _tried(self.tried) if self.tried else None,
            "not_included": list(self.not_included),
            "not_measured": list(self.not_measured),
            "machine": self.machine,
            "profile_s": self.seconds,
        }


def _offer(offer: Offer) -> Json:
    return {
        "name": offer.name,
        "how": offer.how or None,
        "cost": offer.cost,
        "basis": offer.basis,
        "worth_it": offer.worth_it,
        "same_training": offer.same,
        "training_img_per_s": _interval(offer.training),
        "times_today": _interval(offer.gain),
    }


def _unpriced(one: Unpriced) -> Json:
    return {"name": one.name, "how": one.how or None, "why": one.why}


def _tried(tried: Tried) -> Json:
    return {"tier": tried.tier, "why": list(tried.why), "problem": tried.problem or None}


def _interval(interval: Interval) -> dict[str, float]:
    return {"value": interval.value, "ci95_low": interval.low, "ci95_high": interval.high}


def _verdict(verdict: Verdict, rungs: Rungs) -> Json:
    return {
        "label": verdict.label,
        "stage": verdict.stage,
        "severity": list(verdict.severity),
        "stall_share": _interval(verdict.stall),
        "accelerator_utilisation_share": verdict.utilisation,
        "headroom_gpus": _interval(verdict.headroom),
        "overlap_share": overlap(rungs),
    }


def _step(step: StepFacts) -> Json:
    return {"kind": step.kind, "assumed_img_per_s": step.assumed, "note": step.note}


def _replicates(rungs: Rungs) -> Json:
    return {
        "step_img_per_s": list(rungs.step.values),
        "loader_img_per_s": list(rungs.loader.values),
        "training_img_per_s": list(rungs.training.values),
    }


def _setting(setting: Setting) -> Json:
    return {
        "recipe": setting.recipe,
        "data": setting.data,
        "images": setting.images,
        "backend": setting.backend,
        "why_backend": list(setting.why_backend),
        "workers": setting.workers,
        "batch_size": setting.batch_size,
        "height_px": setting.height,
        "width_px": setting.width,
        "device": setting.device,
    }


def _evidence(known: Evidence) -> Json:
    return {
        "starved_share": known.starved,
        "waiting_in_slowest_tenth_share": known.spikes,
        "late_batches_share": known.late,
        "straggler_rank": known.straggler,
        "step_with_copies_img_per_s": list(known.transfer.values) if known.transfer else None,
        "step_beside_loader_img_per_s": list(known.beside.values) if known.beside else None,
        "loader_without_copies_img_per_s": list(known.bare.values) if known.bare else None,
        "step_in_turns_img_per_s": list(known.alone.values) if known.alone else None,
        "waiting_for_store_share": known.store,
    }


def _stage(stage: StageCost) -> Json:
    return {
        "name": stage.name,
        "wall_us_per_img": stage.wall_s * 1e6,
        "cpu_us_per_img": stage.cpu_s * 1e6,
        "blocked_us_per_img": stage.blocked_s * 1e6,
    }


def _size(at: AtSize) -> Json:
    return {
        "size_px": at.size,
        "epochs_share": at.share,
        "loader_img_per_s": list(at.loader.values),
        "step_img_per_s": at.step,
        "training_at_best_img_per_s": at.training,
        "stall_at_best_share": at.stall,
    }


def _workers(at: AtWorkers) -> Json:
    return {"workers": at.workers, "loader_img_per_s": list(at.loader.values)}


def _cut(cut: Cut) -> Json:
    return {
        "name": cut.name,
        "loader_img_per_s": list(cut.loader.values),
        "cold_loader_img_per_s": list(cut.cold.values) if cut.cold else None,
    }


def _reading(reading: Reading) -> Json:
    return {
        "images": reading.images,
        "cold_us_per_img": reading.cold_s * 1e6,
        "warm_us_per_img": reading.warm_s * 1e6,
        "bytes_per_img": reading.bytes_per_image,
    }


def _remedy(priced: Priced, rungs: Rungs) -> Json:
    return {
        "name": priced.alternative.name,
        "backend": priced.alternative.backend,
        "cost": priced.alternative.cost,
        "worth_it": priced.worth_it,
        "loader_img_per_s": list(priced.loader.values),
        "loader_now_img_per_s": list(priced.now.values),
        "speedup": _interval(priced.speedup),
        "predicted_training_img_per_s": priced.predicted(rungs),
        "predicted_training": _interval(priced.range(rungs)),
        "verified_training_img_per_s": list(priced.training.values) if priced.training else None,
    }
