"""A web server that serves what a test says, byte for byte, also what no server should."""

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

Answer = Callable[["Request"], Awaitable[None]]


@dataclass
class Request:
    """One request, and where its answer goes."""

    path: str
    headers: dict[str, str]
    number: int  # of the requests for this path, from 0
    out: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.out.write(data)
        await self.out.drain()

    async def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """A whole answer; a header's `_` is written as `-`."""
        headers = {"Content_Length": str(len(body)), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {said}\r\n" for name, said in headers.items())
        await self.send(f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + body)


@dataclass
class Server:
    """What was asked. Paths without an answer of their own are 404."""

    answers: dict[str, Answer]
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    open: int = 0
    most: int = 0  # requests at once

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                    await self.one(head.split("\r\n"), out)
        finally:
            out.close()

    async def one(self, lines: list[str], out: asyncio.StreamWriter) -> None:
        path = lines[0].split(" ")[1]
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        request = Request(path, headers, self.asked[path], out)
        self.asked[path] += 1
        self.times.append(time.monotonic())
        self.agents.add(headers.get("User-Agent", ""))
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await self.answers.get(path, lambda one: one.answer(404))(request)
        finally:
            self.open -= 1


@contextlib.contextmanager
def serving(answers: dict[str, Answer]) -> Iterator[Server]:
    server, loop = Server(answers), asyncio.new_event_loop()

    async def begin() -> asyncio.AbstractServer:
        return await asyncio.start_server(server.serve, "127.0.0.1", 0)

    async def end() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports are closed one turn later

    listening = loop.run_until_complete(begin())
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        loop.run_until_complete(end())
        loop.close()


def says(body: bytes, status: int = 200, **headers: str) -> Answer:
    """Always the same answer."""
    return lambda request: request.answer(status, body, **headers)
