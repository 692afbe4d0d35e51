"""The fleet of Ray, without Ray: what its driver asks of an actor, and when."""

from types import SimpleNamespace

import pytest

import fastload
from fastload.conversion.cluster import fleet, ray_fleet
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.work import Work
from fastload.conversion.spread import verify
from fastload.errors import ConversionError


class Handle:
    """An actor that only notes its calls; a reference is a name and a number.

    As with Ray's client, the reference that is ready is equal to that of the call, and not the same
    object.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        for name in ("make", "look"):
            setattr(self, name, SimpleNamespace(remote=lambda _, name=name: self.note(name)))

    def note(self, name: str) -> tuple[str, int]:
        self.calls.append(name)
        return name, len(self.calls)


@pytest.fixture
def actors(monkeypatch):
    """A fleet with one actor, its handle, and what is ready: reference to answer."""
    ready = {}
    stand_in = SimpleNamespace(
        wait=lambda refs, **_: ([(*ref,) for ref in refs if ref in ready], []),
        get=ready.pop,
        exceptions=SimpleNamespace(RayError=RuntimeError),
    )
    monkeypatch.setattr(ray_fleet, "import_ray", lambda: stand_in)
    actors, handle = ray_fleet.Ray(count=1), Handle()
    actors.actors["a"] = ray_fleet.Actor(handle, "a", ready=True)
    return actors, handle, ready


def test_one_look_at_a_time_however_short_units_are(actors):
    """Each look holds a thread of the actor for two seconds."""
    actors, handle, ready = actors
    for number in range(5):
        actors.give("a", Order(number, True, False))
        ready[actors.actors["a"].asked] = {"kind": fleet.MADE, "signs": {}}
        assert [event.kind for event in actors.wait(1)] == [fleet.SIGN, fleet.MADE]
    assert handle.calls.count("make") == 5
    assert handle.calls.count("look") == 1


def test_a_look_says_of_which_unit_and_comes_before_its_end(actors):
    actors, handle, ready = actors
    actors.give("a", Order(7, True, False))
    actor = actors.actors["a"]
    ready[actor.asked] = {"kind": fleet.MADE, "signs": {"images": 1}}
    ready[actor.look] = {"number": 7, "images": 2}
    events = actors.wait(1)
    assert [(event.kind, event.number) for event in events] == [
        (fleet.SIGN, 7), (fleet.SIGN, 7), (fleet.MADE, 7),
    ]  # fmt: skip
    assert [event.said for event in events[:2]] == [{"images": 2}, {"images": 1}]
    assert handle.calls.count("look") == 2  # the unit went on when the first one ended


class EndedError(RuntimeError):
    """As Ray says it: with colours, where it happened, and at last why."""


def ends(actors, text):
    """The answer of an actor that is not ready."""
    actors, _, ready = actors
    actor = actors.actors["a"]
    actor.ready, actor.asked = False, ("join", 0)
    actors.ray.kill = lambda *_, **__: None
    actors._start = lambda: actors.actors.update(a=actor)

    def get(_):
        raise EndedError(text)

    actors.ray.get, ready["join", 0] = get, None
    return actors


def test_a_machine_without_fastload_is_said_at_once(actors):
    text = (
        "\x1b[36mray::Maker.__init__()\x1b[39m (pid=1)\n  ^^^^^\nModuleNotFoundError: No module "
        "named 'fastload.conversion'\n    ^^^^ ~~\n"
    )
    with pytest.raises(ConversionError) as error:
        ends(actors, text).wait(1)
    assert str(error.value) == (
        "--on ray: a worker's machine has no fastload, or an older one (ModuleNotFoundError: No "
        f"module named 'fastload.conversion'); install fastload-torch {fastload.__version__} on "
        "every machine of the cluster"
    )


def test_workers_that_end_before_they_are_ready_are_one_line(actors):
    found = ends(actors, "\x1b[36mray::Maker.join()\x1b[39m\nTraceback:\nKeyError: 'convert'\n")
    for _ in range(2):
        (event,) = found.wait(1)
        assert (event.kind, event.said) == (fleet.GONE, {"error": "ended (KeyError: 'convert')"})
    with pytest.raises(ConversionError) as error:
        found.wait(1)
    assert str(error.value) == (
        "--on ray: 3 workers ended before they were ready (KeyError: 'convert'); see `ray logs`, "
        f"and install fastload-torch {fastload.__version__} on every machine of the cluster"
    )


def test_an_error_without_text_has_a_name(actors):
    assert ray_fleet.why(EndedError("")) == "EndedError"


def test_another_fastload_is_refused(actors, monkeypatch):
    maker = ray_fleet.Maker(Work(verify.KIND, "{}"))
    monkeypatch.setattr(ray_fleet.socket, "gethostname", lambda: "node7")
    monkeypatch.setattr(fastload, "__version__", "9.9")
    said = maker.join("9.10")
    assert said == {
        "host": "node7", "kind": fleet.FAILED, "typed": True, "usage": False,
        "error": "--on ray: node7 has fastload 9.9 (want 9.10, as where this began); install the "
        "same on every machine of the cluster",
    }  # fmt: skip
    found, _, ready = actors
    actor = found.actors["a"]
    actor.ready, actor.asked = False, ("join", 0)
    ready["join", 0] = said
    events = found.wait(1)
    assert [(event.kind, event.worker) for event in events] == [
        (fleet.FAILED, "node7/a"), (fleet.READY, "node7/a"),
    ]  # fmt: skip
    assert events[0].said["typed"]
