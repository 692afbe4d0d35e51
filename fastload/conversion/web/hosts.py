"""Each host's own limits: how many connections at once, how many requests per second, and silence
where it asks for that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastload.conversion.web.failures import failed

KEPT = 4096  # hosts that nobody uses, before they are forgotten
MOST = 1 << 17  # hosts, before those are forgotten too that are to be left alone for a while


class _Gate:
    def __init__(self, connections: int) -> None:
        self.free = asyncio.Semaphore(connections)
        self.users = 0
        self.next = self.silent = 0.0  # the loop's time, s


class Hosts:
    """Turns at hosts; all in one event loop. Memory is O(hosts in use)."""

    def __init__(self, connections: int, rate: float | None) -> None:
        self.connections = connections
        self.interval = 1 / rate if rate else 0.0
        self.gates: dict[str, _Gate] = {}

    @asynccontextmanager
    async def turn(self, host: str, patience: float) -> AsyncIterator[None]:
        """Inside, one request may be made.

        patience: s of silence that are waited for. Raises FailedError for a longer one.
        """
        gate = self.gates.get(host)
        if gate is None:
            self._forget()
            gate = self.gates[host] = _Gate(self.connections)
        gate.users += 1
        try:
            async with gate.free:
                now = asyncio.get_running_loop().time()
                start = max(now, gate.next)
                gate.next = start + self.interval
                while (start := max(start, gate.silent)) > now:
                    if gate.silent - now > patience:
                        raise failed("told_to_wait", "the host asks to be left alone for long", 429)
                    await asyncio.sleep(start - now)
                    now = asyncio.get_running_loop().time()
                yield
        finally:
            gate.users -= 1

    def silence(self, host: str, seconds: float) -> None:
        """No request begins there for so long."""
        if gate := self.gates.get(host):
            until = asyncio.get_running_loop().time() + seconds
            gate.silent = max(gate.silent, until)

    def _forget(self) -> None:
        if len(self.gates) < KEPT:
            return
        now = asyncio.get_running_loop().time()
        self.gates = {
            host: gate
            for host, gate in self.gates.items()
            if gate.users or max(gate.next, gate.silent) > now
        }
        if len(self.gates) >= MOST:
            self.gates = {host: gate for host, gate in self.gates.items() if gate.users}
