"""Conversions to every format, and what stands there afterwards."""

import os


def convert(tools, source, out, to, **more):
    how = {} if to == "beton" else {"shard_bytes": 3000}
    return tools.convert_to(source, out, to, **how, **more)


def found(tools, out):
    """What stands under the final name: None, or all its bytes."""
    if out.is_dir():
        names = {
            name: data
            for name, data in tools.contents(out).items()
            if not os.path.basename(name).startswith(".fastload-")
        }
        return (
            names
            if names
            and (
                out.name != "out"
                or "index.arrow" in names
                or not (out / ".fastload-index.arrow").exists()
            )
            else None
        )
    return out.read_bytes() if out.exists() else None
