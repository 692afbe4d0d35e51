"""The fleet of Ray, without Ray: what its driver asks of an actor, and when."""

from types import SimpleNamespace

import pytest

from fastload.conversion.cluster import fleet, ray_fleet
from fastload.conversion.cluster.fleet import Order


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
