"""How a table of URLs is read and fetched."""

from dataclasses import dataclass, field

import fastload
from fastload.errors import UsageError
from fastload.system import limits

PROGRAM = "fastload"  # how X-Robots-Tag and robots.txt may call us
AGENT = (
    f"Mozilla/5.0 (compatible; {PROGRAM}/{fastload.__version__}; images for training data; "
    "opt out by X-Robots-Tag: noai)"
)
# What an answer's X-Robots-Tag may say so that its image is not taken
OPT_OUTS = ("noai", "noimageai", "noindex", "noimageindex")
ROWS = 10_000  # of a shard, before what fails is left out
# What stands in each sample's JSON, so that no other column may be called so
RESERVED = ("key", "url", "caption", "sha256", "height", "width")


@dataclass(frozen=True)
class Columns:
    """Which columns of the table are read.

    Args:
        url: The URL; None: the first of url, URL.
        caption: The caption; None: the first of caption, text, TEXT, if one is there.
        checksum: MD5 or SHA-256 of the file, in hex; its length tells which.
        fields: Further columns, which go into each sample's JSON.
    """

    url: str | None = None
    caption: str | None = None
    checksum: str | None = None
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if taken := [name for name in self.fields if name in RESERVED]:
            raise UsageError(
                f"field: {', '.join(taken)} stands in each sample's JSON already; leave it out, or "
                "rename the column"
            )


@dataclass(frozen=True)
class Fetch:
    """How URLs are fetched.

    Args:
        connections: At once, to all hosts.
        host_connections: At once, to one host.
        host_rate: Requests per second to one host; None: no limit.
        timeout: Seconds for one try of one URL, redirects included, waiting for a turn not.
        retries: Further tries after what may pass: timeouts, broken connections, 429, 5xx.
        backoff: Seconds before the second try, about; twice as many before each further one.
        longest_wait: Seconds; a host that asks for a longer one (Retry-After) is given up.
        redirects: That are followed, at most.
        max_bytes: Of one file.
        min_side: Pixels of an image's shorter side, at least.
        max_area: Pixels of an image, at most; None: no limit but Pillow's.
        max_aspect: Longer side by shorter side, at most; None: no limit.
        opt_outs: Words of X-Robots-Tag that keep an image out; empty: none does.
        robots_txt: Ask each site's robots.txt first.
        agent: What the requests call themselves.
        private: Loopback, private and link-local addresses are allowed.
        rows: Of the table in each shard.

    Raises:
        UsageError: An argument is out of its range.
    """

    connections: int = 128
    host_connections: int = 8
    host_rate: float | None = None
    timeout: float = 20.0
    retries: int = 2
    backoff: float = 1.0
    longest_wait: float = 60.0
    redirects: int = 5
    max_bytes: int = 32 * limits.MIB
    min_side: int = 0
    max_area: int | None = None
    max_aspect: float | None = None
    opt_outs: tuple[str, ...] = OPT_OUTS
    robots_txt: bool = False
    agent: str = field(default=AGENT)
    private: bool = False
    rows: int = ROWS

    def __post_init__(self) -> None:
        self._at_least("connections", self.connections, 1)
        self._at_least("host connections", self.host_connections, 1)
        self._at_least("retries", self.retries, 0)
        self._at_least("redirects", self.redirects, 0)
        self._at_least("min side", self.min_side, 0)
        self._at_least("rows per shard", self.rows, 1)
        if self.backoff < 0 or self.longest_wait < 0:
            raise UsageError("backoff, longest wait: got less than 0 s; give others")
        for name, value in (
            ("host rate", self.host_rate), ("timeout", self.timeout),
            ("max area", self.max_area), ("max aspect", self.max_aspect),
        ):  # fmt: skip
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name}: got {value}, want more than 0; give another")
        if not 1 <= self.max_bytes <= limits.SAMPLE:
            raise UsageError(
                f"max bytes: got {self.max_bytes} (want 1 to {limits.SAMPLE}); give another"
            )
        if not self.agent.isprintable() or not self.agent.isascii() or not self.agent:
            raise UsageError(
                f"user agent: got {self.agent!r}, want printable ASCII; write what you are and "
                "how to reach you"
            )

    def _at_least(self, name: str, value: int, least: int) -> None:
        if value < least:
            raise UsageError(f"{name}: got {value}, want at least {least}; give another")

    @property
    def deciding(self) -> list[object]:
        """What decides which of the files that are served go into the data set."""
        return [
            self.redirects, self.max_bytes, self.min_side, self.max_area, self.max_aspect,
            list(self.opt_outs), self.robots_txt, self.private, self.rows,
        ]  # fmt: skip
