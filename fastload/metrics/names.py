"""The table of all metrics: name, kind, unit, meaning, and where the number comes from. Every
exporter, the page and the dashboard's test are made from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from fastload.metrics.facts import Facts
from fastload.metrics.planned import Between

COUNTER, GAUGE = "counter", "gauge"
Number = float | Mapping[str, float] | None  # by the value of the label; None: there is none now
Take = Callable[[Facts, Facts], Number]


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Args:
        name: The same in every tool. Those of counters end with _total.
        kind: "counter" grows only, from 0 when the loader is made; "gauge" is a value of now.
        unit: By UCUM, as OpenTelemetry writes units: s, By, 1; what is counted in braces.
        meaning: One line.
        take: Of the reading now and the one before.
        label: The label besides `loader` and `rank`, where there is one value for each of several
            things.

    Example:
        >>> from fastload.metrics.names import METRICS
        >>> METRICS[0].name, METRICS[0].unit
        ('fastload_images_total', '{image}')
    """

    name: str
    kind: str
    unit: str
    meaning: str
    take: Take
    label: str = ""


def _counted(name: str, now: Facts, _: Facts) -> Number:
    value: float = now.counts[name]
    return value


def _stage(place: int, scale: float, now: Facts, _: Facts) -> Number:
    return {stage: numbers[place] * scale for stage, numbers in now.stages.items()}


def _stored(name: str, now: Facts, _: Facts) -> Number:
    return None if now.store is None else now.store[name]


def _of_run(name: str, now: Facts, _: Facts) -> Number:
    value: float | None = None if now.run is None else getattr(now.run, name)
    return value


def _bounds(name: str, now: Facts, _: Facts) -> Number:
    between: Between | None = None if now.run is None else getattr(now.run, name)
    return None if between is None else between._asdict()


def _rate(now: Facts, before: Facts) -> Number:
    seconds = now.at - before.at
    return (now.counts["images"] - before.counts["images"]) / seconds if seconds > 0 else None


def _wait_ratio(now: Facts, before: Facts) -> Number:
    seconds = now.counts["elapsed_s"] - before.counts["elapsed_s"]
    waited: float = now.counts["wait_s"] - before.counts["wait_s"]
    return waited / seconds if seconds > 0 else None


def _queue_depth(now: Facts, before: Facts) -> Number:
    batches = now.counts["batches"] - before.counts["batches"]
    ready = [one.counts["queue_depth"] * one.counts["batches"] for one in (now, before)]
    return (ready[0] - ready[1]) / batches if batches > 0 else None


METRICS = (
    Metric(
        "fastload_images_total", COUNTER, "{image}",
        "Images handed to the training.", partial(_counted, "images"),
    ),
    Metric(
        "fastload_batches_total", COUNTER, "{batch}",
        "Batches handed to the training.", partial(_counted, "batches"),
    ),
    Metric(
        "fastload_elapsed_seconds_total", COUNTER, "s",
        "Time in epochs, from their begin to the last batch handed over; the training's steps are "
        "in it.", partial(_counted, "elapsed_s"),
    ),
    Metric(
        "fastload_wait_seconds_total", COUNTER, "s",
        "Time in which the training waited for batches.", partial(_counted, "wait_s"),
    ),
    Metric(
        "fastload_bad_samples_total", COUNTER, "{image}",
        "Images that could not be read or decoded.", partial(_counted, "bad_samples"),
    ),
    Metric(
        "fastload_images_per_second", GAUGE, "{image}/s",
        "Images handed to the training per second, since the reading before.", _rate,
    ),
    Metric(
        "fastload_possible_images_per_second", GAUGE, "{image}/s",
        "Images per second of the native threads if nothing held them up.",
        lambda now, _: now.possible,
    ),
    Metric(
        "fastload_wait_ratio", GAUGE, "1",
        "Share of the time in which the training waited for batches, since the reading before.",
        _wait_ratio,
    ),
    Metric(
        "fastload_queue_depth", GAUGE, "{batch}",
        "Batches that were done when one was asked for; mean since the reading before.",
        _queue_depth,
    ),
    Metric(
        "fastload_epoch", GAUGE, "{epoch}",
        "Number of the epoch, from 0.", lambda now, _: now.epoch,
    ),
    Metric(
        "fastload_step", GAUGE, "{batch}",
        "Batches of this epoch that were handed over.", lambda now, _: now.step,
    ),
    Metric(
        "fastload_steps_per_epoch", GAUGE, "{batch}",
        "Batches of an epoch, where their number is known.", lambda now, _: now.steps,
    ),
    Metric(
        "fastload_stage_images_total", COUNTER, "{image}",
        "Images that went through a stage of the native threads.", partial(_stage, 0, 1), "stage",
    ),
    Metric(
        "fastload_stage_seconds_total", COUNTER, "s",
        "Time of the native threads in a stage.", partial(_stage, 1, 1e-9), "stage",
    ),
    Metric(
        "fastload_stage_cpu_seconds_total", COUNTER, "s",
        "CPU time of the native threads in a stage.", partial(_stage, 2, 1e-9), "stage",
    ),
    Metric(
        "fastload_decoded_images_total", COUNTER, "{image}",
        "Images by the way in which they were decoded.", lambda now, _: now.decoded, "way",
    ),
    Metric(
        "fastload_store_requests_total", COUNTER, "{request}",
        "Requests to the store in which the data lie.", partial(_stored, "requests"),
    ),
    Metric(
        "fastload_store_retries_total", COUNTER, "{request}",
        "Requests to the store that were made again.", partial(_stored, "retries"),
    ),
    Metric(
        "fastload_store_bytes_total", COUNTER, "By",
        "Bytes that came from the store.", partial(_stored, "bytes"),
    ),
    Metric(
        "fastload_store_cached_bytes_total", COUNTER, "By",
        "Bytes that the cache had, so that the store was not asked.", partial(_stored, "found"),
    ),
    Metric(
        "fastload_store_wait_seconds_total", COUNTER, "s",
        "Time in which batches waited for the store.", partial(_stored, "waited_s"),
    ),
    Metric(
        "fastload_run_done_ratio", GAUGE, "1",
        "Share of the planned time of the run that is done.", partial(_of_run, "done"),
    ),
    Metric(
        "fastload_run_seconds", GAUGE, "s",
        "Time in epochs since the plan was given.", partial(_of_run, "seconds"),
    ),
    Metric(
        "fastload_run_planned_seconds", GAUGE, "s",
        "Time that the plan has for the same stretch.", partial(_of_run, "planned"),
    ),
    Metric(
        "fastload_run_left_seconds", GAUGE, "s",
        "Time that is left: its estimate (value), and the ends of its interval (low, high).",
        partial(_bounds, "left"), "bound",
    ),
    Metric(
        "fastload_run_cost", GAUGE, "{currency}",
        "Cost since the plan was given, by its price.", partial(_of_run, "cost"),
    ),
    Metric(
        "fastload_run_whole_cost", GAUGE, "{currency}",
        "Cost at the end: its estimate (value), and the ends of its interval (low, high).",
        partial(_bounds, "whole_cost"), "bound",
    ),
)  # fmt: skip
