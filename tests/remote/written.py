"""Conversions to a store: their options, and the bytes that they have to leave there."""

from pathlib import Path

SHARD = 128 << 10  # bytes
PLAIN = {"shard_bytes": SHARD, "shuffle": 5, "workers": 2}  # as the fixture `shards`


def files(folder: Path) -> dict[str, bytes]:
    """What lies in a folder without others in it, by name."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
