"""The lines that fastload doctor prints."""

import sys
from collections.abc import Iterator

from fastload.cli import gpus
from fastload.conversion.units import human
from fastload.spec import Json

SHM = "/dev/shm"  # noqa: S108  looked at, never written to


def lines(facts: Json) -> Iterator[tuple[str, str]]:
    here, cores, memory, files = (
        facts["system"],
        *(facts["system"][name] for name in ("cores", "memory", "open_files")),
    )
    quota = "none" if cores["quota"] is None else f"{cores['quota']:g} cores"
    limit = "" if memory["limit"] is None else f", limit {human(memory['limit'])}"
    yield "system", f"{here['distribution'] or here['os']}, {here['os']}, {here['architecture']}"
    yield (
        "cpu",
        (
            f"{here['cpu']}: {cores['usable']} cores usable (affinity {cores['affinity']}, online "
            f"{cores['online']}, quota {quota})"
        ),
    )
    yield "memory", human(memory["total"]) + limit
    yield (
        SHM,
        "missing"
        if here["shm"] is None
        else f"{human(here['shm']['total'])}, {human(here['shm']['free'])} free",
    )
    yield "open files", f"{files['soft']} (hard limit {files['hard']})"
    yield "python", f"{facts['python']} ({sys.prefix})"
    yield from _library_lines(facts)


def _library_lines(facts: Json) -> Iterator[tuple[str, str]]:
    torch, pil, ours = facts["torch"], facts["pillow"], facts["native"]
    count = (
        f"{len(torch['gpus'])} GPU{'s' * (len(torch['gpus']) != 1)} seen"
        if torch["gpus"]
        else "no GPU seen"
    )
    yield (
        "torch",
        (
            f"{torch['version']}, built for "
            f"{'CUDA ' + torch['cuda'] if torch['cuda'] else 'CPU only'}; {count}"
        ),
    )
    yield from gpus.lines(facts)
    turbo = f"libjpeg-turbo {pil['libjpeg_turbo']}" if pil["libjpeg_turbo"] else "no libjpeg-turbo"
    yield "pillow", f"{pil['name']} {pil['version']}, {turbo}"
    yield from _native_lines(ours)
    for added in facts["extensions"]:
        who = f"{added['distribution']} {added['version'] or ''}".rstrip()
        broken = ", broken" * bool(added["problem"])
        yield "extension", f"{added['name']} of {added['group']}, by {who}{broken}"
    for name, fact in facts["optional"].items():
        codec = f", nvImageCodec {facts['nvimagecodec'] or 'not installed'}" * (name == "dali")
        yield (
            name,
            f"{fact['version']}{codec}"
            if fact["version"]
            else f"not installed, for {fact['for']}: {fact['install']}",
        )


def _native_lines(ours: Json) -> Iterator[tuple[str, str]]:
    if ours["ok"]:
        yield "native", "vector code: " + ", ".join(ours["targets"])
        yield (
            "",
            ", ".join(
                f"{name} {version}" for name, version in ours["versions"].items() if name != "cuda"
            ),
        )
        yield (
            "",
            f"CUDA kernels: built with {ours['versions'].get('cuda')}"
            if ours["cuda_built"]
            else "CUDA kernels: not built",
        )
    else:
        yield "native", f"cannot be loaded: {ours['error']}; install fastload again"


def verdict(facts: Json) -> list[str]:
    if not facts["native"]["ok"]:
        return ["", "fastload is broken: its native module cannot be loaded"]
    return (
        ["", *(f"warning: {text}" for text in facts["warnings"])]
        if facts["warnings"]
        else ["", "nothing to complain about"]
    )
