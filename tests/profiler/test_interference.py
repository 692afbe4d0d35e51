"""What the loader takes from the training's process: how a report says it, and what is counted."""

import threading

import fastload
from fastload import transforms as T
from fastload.attach import taken
from fastload.profiler.interference import MOST, Taken, as_json, line


def test_the_line_of_a_report():
    assert line(Taken(0.004, 0.011, 1.93))[0] == (
        "OK: the loader's Python takes 1.5 % of the training's time (0.4 % in next(), 1.1 % in "
        "threads beside it; up to 2 % is OK); 1.9 cores by what makes the images"
    )
    assert line(Taken(0.01, 0.03, None))[0] == (
        "INTERFERENCE: the loader's Python takes 4 % of the training's time (1 % in next(), 3 % in "
        "threads beside it; up to 2 % is OK)"
    )


def test_what_was_not_measured_has_no_line():
    assert line(None) == []
    assert as_json(None) is None


def test_the_edge_is_still_ok():
    assert Taken(MOST, 0.0, None).label == "OK"
    assert as_json(Taken(MOST, 0.001, 2.0)) == {
        "label": "INTERFERENCE", "next_share": MOST, "threads_share": 0.001, "busy_cores": 2.0
    }  # fmt: skip


def test_threads_of_loaders_are_counted_and_others_are_not():
    def work(until: threading.Event, told: threading.Event) -> None:
        sum(range(300_000))
        told.set()
        until.wait(20)
        taken.ended()

    for name, counts in (("fastload-feeder", True), ("another", False)):
        before, until, told = taken.python_seconds(), threading.Event(), threading.Event()
        thread = threading.Thread(target=work, args=(until, told), name=name)
        thread.start()
        told.wait(20)
        assert (taken.python_seconds() > before) == counts
        until.set()
        thread.join()


def test_an_epochs_feeder_counts_after_its_end(photos):
    data = fastload.open(str(photos), [T.RandomResizedCrop((20, 24)), T.PILToTensor()])
    before = taken.python_seconds()
    for _ in fastload.DataLoader(data, 2, num_workers=1):
        pass
    assert taken.python_seconds() > before
