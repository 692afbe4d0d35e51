"""Which versions a data set has, wherever it lies."""

import os

from fastload.errors import SourceError
from fastload.files import formats
from fastload.remote.urls import public
from fastload.sources import open_source, shards
from fastload.sources.remote import RemoteShards, versions_behind
from fastload.sources.shard_versions import Version
from fastload.sources.shards import ShardSource


def listing(path: str) -> tuple[Version, ...]:
    """All versions, the newest last; of a data set that nobody has changed one.

    Raises SourceError.
    """
    source = open_source(path)
    if not isinstance(source, ShardSource):
        seen = formats.seen_at(path) if os.path.exists(path) else "something else"
        raise SourceError(
            f"{public(path)}: has no versions (got {seen}, want converted shards); leave "
            "--versions out"
        )
    if isinstance(source, RemoteShards):
        return versions_behind(source)
    return shards.versions(source.where)
