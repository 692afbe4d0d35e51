"""Workers as actors of Ray, on one machine or on many. Ray is imported when one begins."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import fastload
from fastload.conversion.cluster import fleet
from fastload.conversion.cluster.fleet import Event, Order
from fastload.conversion.cluster.work import Work
from fastload.conversion.cluster.worker import failed, made, opened
from fastload.conversion.workers import Stop
from fastload.errors import ConversionError, FastloadError, StoreError, UsageError
from fastload.spec import Json

STILLBORN = 3  # workers in a row that end before they are ready: then no other will be
LOOK = 2.0  # s between two looks at how far a worker is
INSTALL = "pip install 'fastload-torch[ray]'"
ABSENT = "No module named 'fastload"  # of a worker's error, whose machine has none or an older one
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def import_ray() -> ModuleType:
    """Raises UsageError where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"--on ray: needs Ray, which is not installed ({error}); run {INSTALL}, on every "
            "machine, or take --on processes"
        ) from error
    module: ModuleType = ray
    return module


class Maker:
    """An actor: what `worker.Worker` is to a process. Its methods run in threads."""

    def __init__(self, work: Work) -> None:
        self.work, self.stop = work, Stop()
        self.lock = threading.Lock()
        self.number = fleet.NOBODY
        self.done: Json = {}  # of that unit, since it was last said

    def join(self, version: str) -> Json:
        """Where it runs; as an event, why it cannot. version: of the fastload that it works for."""
        host = socket.gethostname()
        try:
            check_version(host, version)
            opened(self.work)  # which may take minutes, and is no part of a unit
        except (FastloadError, OSError) as error:
            return {"host": host, **failed(error, typed=not isinstance(error, StoreError))}
        return {"host": host}

    def make(self, order: Order) -> Json:
        """An event: what became of a unit."""
        self.stop, self.number = Stop(), order.number
        said = made(self.work, order, self._sign, self.stop)
        with self.lock:
            rest, self.done = self.done, {}
        return {"signs": rest, **said}

    def _sign(self, said: Json) -> None:
        with self.lock:
            for name in ("images", "bytes"):
                self.done[name] = self.done.get(name, 0) + said[name]
            self.done.update({name: said[name] for name in said if name == "sample"})

    def look(self, seconds: float) -> Json:
        """What was done since the last look, after that time; nothing: no sign of progress."""
        time.sleep(seconds)
        with self.lock:
            said, self.done = self.done, {}
        return said and {"number": self.number, **said}

    def give_up(self) -> None:
        self.stop.ask()


def check_version(host: str, version: str) -> None:
    """Raises ConversionError where this is another fastload than `version`."""
    if fastload.__version__ != version:
        raise ConversionError(
            f"--on ray: {host} has fastload {fastload.__version__} (want {version}, as where this "
            "began); install the same on every machine of the cluster"
        )


@dataclass
class Actor:
    """An actor, and what it was asked for."""

    handle: Any
    name: str
    asked: Any = None  # a reference: to how it has joined, then to the unit that it makes
    look: Any = None
    number: int = fleet.NOBODY
    ready: bool = False


class Ray:
    """A fleet of `count` actors, each with one CPU; None: as many as the cluster has CPUs.

    address: of a cluster, "ray://HEAD:PORT"; None: the one of this machine or RAY_ADDRESS, else a
    new one on this machine.
    """

    name = "ray"

    def __init__(self, address: str | None = None, count: int | None = None) -> None:
        self.ray, self.address, self.count = import_ray(), address, count
        self.work: Work | None = None
        self.actors: dict[str, Actor] = {}
        self.begun = self.stillborn = 0
        self.ours = False

    @property
    def size(self) -> int:
        return len(self.actors)

    def begin(self, work: Work, units: int) -> None:
        ray, self.work = self.ray, work
        if not ray.is_initialized():
            self._connect()
        with self._connected():
            count = self.count or int(ray.cluster_resources().get("CPU", 1))
            for _ in range(min(count, units)):
                self._start()

    def _connect(self) -> None:
        try:
            self.ray.init(
                address=self.address, logging_level="warning", log_to_driver=True,
                include_dashboard=None if self.address else False,
            )  # fmt: skip
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise ConversionError(
                f"--on {self.address or 'ray'}: no cluster answers ({text}); see `ray status` "
                "there, or take --on processes"
            ) from error
        self.ours = True

    def _start(self) -> None:
        kind = self.ray.remote(num_cpus=1, max_restarts=0, max_concurrency=4)(Maker)
        actor = Actor(kind.remote(self.work), str(self.begun))
        self.begun += 1
        actor.asked = actor.handle.join.remote(fastload.__version__)
        self.actors[actor.name] = actor

    def give(self, worker: str, order: Order) -> None:
        actor = self.actors[worker]
        actor.number = order.number
        with self._connected():
            actor.asked = actor.handle.make.remote(order)
            if actor.look is None:  # one at a time: more would take all threads of the actor
                actor.look = actor.handle.look.remote(LOOK)

    def stop(self, worker: str) -> None:
        if actor := self.actors.get(worker):
            with self._connected():
                actor.handle.give_up.remote()

    def end(self, worker: str) -> None:
        with self._connected():
            self._remove(self.actors[worker])
            self._start()

    def wait(self, seconds: float) -> list[Event]:
        with self._connected():
            return self._events(seconds)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raises ConversionError where the cluster has gone, whose head was killed perhaps."""
        try:
            yield
        except ConnectionError as error:
            text = " ".join(str(error).split())
            raise ConversionError(
                f"--on {self.address or 'ray'}: the cluster has gone ({text[:200]}); "
                f"{self.work.again if self.work else 'try again'}, on another cluster or on this "
                "one"
            ) from error

    def _events(self, seconds: float) -> list[Event]:
        of = {
            ref: actor
            for actor in self.actors.values()
            for ref in (actor.asked, actor.look)
            if ref is not None
        }
        if not of:
            time.sleep(seconds)
            return []
        ready, _ = self.ray.wait(list(of), num_returns=len(of), timeout=0)
        if not ready:
            ready, _ = self.ray.wait(list(of), num_returns=1, timeout=seconds)
        events = list[Event]()
        looks = {actor.look for actor in self.actors.values()}
        for ref in sorted(ready, key=lambda ref: ref not in looks):  # first what was done before
            if of[ref].name in self.actors:  # else it has ended meanwhile
                events += self._said(of[ref], ref)
        return events

    def _said(self, actor: Actor, ref: Any) -> list[Event]:
        try:
            said = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            return [self._ended(actor, error)]
        if ref == actor.look:  # of a client, it is another object
            actor.look = None
            if actor.asked is not None:
                actor.look = actor.handle.look.remote(LOOK)
            return [Event(fleet.SIGN, actor.name, said.pop("number"), said)] if said else []
        actor.asked = None
        if not actor.ready:
            return self._joined(actor, said)
        number, actor.number = actor.number, fleet.NOBODY
        signs = Event(fleet.SIGN, actor.name, number, said.pop("signs"))
        return [signs, Event(said.pop("kind"), actor.name, number, said)]

    def _joined(self, actor: Actor, said: Json) -> list[Event]:
        """Its name says from now on where it runs."""
        del self.actors[actor.name]
        actor.name, actor.ready, self.stillborn = f"{said.pop('host')}/{actor.name}", True, 0
        self.actors[actor.name] = actor
        events = [Event(said.pop("kind"), actor.name, said=said)] if said else []
        return [*events, Event(fleet.READY, actor.name)]

    def _ended(self, actor: Actor, error: Exception) -> Event:
        """Raises ConversionError if the next ones would end as well."""
        self.stillborn += not actor.ready
        number, text = actor.number, why(error)
        self._remove(actor)
        if not actor.ready and ABSENT in text:
            raise ConversionError(
                f"--on ray: a worker's machine has no fastload, or an older one ({text}); install "
                f"fastload-torch {fastload.__version__} on every machine of the cluster"
            )
        if self.stillborn >= STILLBORN:
            raise ConversionError(
                f"--on ray: {STILLBORN} workers ended before they were ready ({text}); see `ray "
                f"logs`, and install fastload-torch {fastload.__version__} on every machine of the "
                "cluster"
            )
        self._start()
        return Event(fleet.GONE, actor.name, number, {"error": f"ended ({text})"})

    def _remove(self, actor: Actor) -> None:
        del self.actors[actor.name]
        self.ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        with suppress(ConnectionError):  # it has gone, and its actors with it
            if self.ray.is_initialized():
                for actor in list(self.actors.values()):
                    self._remove(actor)
                if self.ours:
                    self.ray.shutdown()
        self.actors.clear()
        self.stillborn, self.ours = 0, False


def why(error: Exception) -> str:
    """The last line of Ray's error; those before are where it happened."""
    lines = [line.strip() for line in COLOUR.sub("", str(error)).splitlines()]
    return next((line for line in reversed(lines) if line.strip("^~ ")), type(error).__name__)[:200]
