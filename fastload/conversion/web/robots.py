"""What a site says against being taken: the header X-Robots-Tag, and robots.txt."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from urllib.robotparser import RobotFileParser

from fastload.conversion.web.options import PROGRAM

# Directives that have a value behind a colon; any other word before a colon names a program
VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
MOST = 512_000  # bytes of a robots.txt that are read; RFC 9309 asks for 500 KiB at least
KEPT = 4096  # sites whose robots.txt is remembered


def opted_out(headers: Iterable[str], words: Sequence[str], token: str = PROGRAM) -> str:
    """The first directive of X-Robots-Tag that keeps the answer out; empty: none does.

    headers: each header's value. A directive behind another program's name is for that one.
    """
    for value in headers:
        agent = ""
        for part in value.lower().split(","):
            head, colon, tail = (piece.strip() for piece in part.partition(":"))
            if colon and head not in VALUED:
                agent, head = head, tail
            # "none" is short for noindex, nofollow
            found = "noindex" if head == "none" else head
            if found in words and agent in ("", "*", token):
                return found
    return ""


class RobotsTxt:
    """robots.txt of each site, asked for once; all in one event loop.

    get: fetches a URL's text; "" where there is none, None where nobody can tell.
    """

    def __init__(self, get: Callable[[str], Awaitable[str | None]], token: str = PROGRAM) -> None:
        self.get, self.token = get, token
        self.known: OrderedDict[str, asyncio.Task[RobotFileParser | None]] = OrderedDict()

    async def allows(self, origin: str, url: str) -> bool:
        """Whether the site `origin` ("https://host:port") lets `url` be taken.

        As RFC 9309: a site without the file allows all, one that fails allows nothing.
        """
        if origin not in self.known:
            self.known[origin] = asyncio.create_task(self._read(origin))
            while len(self.known) > KEPT:
                self.known.popitem(last=False)
        rules = await asyncio.shield(self.known[origin])
        return rules is not None and rules.can_fetch(self.token, url)

    async def _read(self, origin: str) -> RobotFileParser | None:
        text = await self.get(f"{origin}/robots.txt")
        if text is None:
            return None
        rules = RobotFileParser()
        rules.parse(text.splitlines())
        return rules
