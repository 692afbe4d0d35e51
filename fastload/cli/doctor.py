"""`fastload doctor`: what this machine offers to a data loader, and what would hold it back.

Reads, changes nothing.
"""

import importlib
import os
import platform

import typer
from rich.text import Text

from fastload.backends.table import BACKENDS, DALI, OWN
from fastload.cli import gpus
from fastload.cli.doctor_lines import SHM, lines, verdict
from fastload.cli.output import JsonTo, emit
from fastload.cli.verbs import Verb
from fastload.conversion.units import human
from fastload.files import formats
from fastload.spec import Json
from fastload.system.distributions import version_of
from fastload.system.machine import (
    BROKEN_CODEC,
    CODECS,
    WHOLE_CODEC,
    affinity,
    cpu_model,
    cpu_quota,
    memory_limit,
    memory_total,
    usable_cores,
)

GIB = 1 << 30
# Bytes. PyTorch's workers hand batches over in /dev/shm; Docker's default is 64 MiB.
SMALL_SHM = GIB
# File descriptors. PyTorch's workers take one per tensor under way, shards one per file.
FEW_FILES, UNLIMITED = 4096, -1

TABLES = (formats.SOURCES, formats.READERS, formats.WRITERS, BACKENDS)


def _formats_of(distributions: tuple[str, ...]) -> str:
    """The formats that need one of them."""
    return "; ".join(one.summary for one in formats.OWN if one.distributions == distributions)


# What it is for, the distributions that bring it (any one will do), how to get it.
REFUSES_NO_BITS = 13  # Pillow's major version: ImageOps.posterize(image, 0) is a ValueError
OPTIONAL: dict[str, tuple[str, tuple[str, ...], str]] = {
    "torchvision": (
        "recipes, the reference in demo and benchmarks",
        ("torchvision",),
        'pip install "fastload-torch[recipes]"',
    ),
    "timm": ("recipes, models", ("timm",), 'pip install "fastload-torch[recipes]"'),
    **{
        one.distributions[0]: (_formats_of(one.distributions), one.distributions, one.install)
        for one in formats.OWN
        if one.distributions
    },
    "numba": ("own ops as machine code", ("numba",), 'pip install "fastload-torch[numba]"'),
    "obstore": ("object stores, the web", ("obstore",), 'pip install "fastload-torch[remote]"'),
    "aiohttp": ("tables of URLs", ("aiohttp",), 'pip install "fastload-torch[urls]"'),
    **{
        one.name: (f"backend {one.name}", one.distributions, one.install)
        for one in OWN
        if one.install and not one.own_draws
    },
}


def register(app: typer.Typer) -> None:
    app.command("doctor", cls=Verb)(doctor)


def doctor(json_to: JsonTo = None) -> None:
    """Look at the machine, the libraries and fastload itself; say what would slow loading down."""
    facts = examine()
    emit(
        facts,
        json_to,
        *(Text(f"{part:12} {text}") for part, text in lines(facts)),
        *map(Text, verdict(facts)),
    )
    if not facts["native"]["ok"]:
        raise typer.Exit(1)


def examine() -> Json:
    """Everything that doctor knows; None stands for "cannot be known here". Sizes in bytes."""
    facts: Json = {
        "system": system(),
        "python": platform.python_version(),
        "torch": torch_facts(),
        "torchvision": version_of("torchvision"),
        "pillow": pillow(),
        "native": native(),
        "nvimagecodec": version_of(*CODECS),  # DALI's decoder
        "optional": {
            name: {"for": what, "version": version_of(*names), "install": how}
            for name, (what, names, how) in OPTIONAL.items()
        },
    }
    facts["backends"] = backend_problems() if facts["native"]["ok"] else {}
    facts["extensions"] = extensions() if facts["native"]["ok"] else []
    facts["warnings"] = warnings_about(facts)
    return facts


# --- the machine ---


def system() -> Json:
    soft, hard = _open_files()
    return {
        "os": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "architecture": platform.machine(),
        "cpu": cpu_model(),
        "cores": {
            "usable": usable_cores(),
            "affinity": len(affinity()),
            "online": os.cpu_count(),
            "quota": cpu_quota(),
        },
        "memory": {"total": memory_total(), "limit": memory_limit()},
        "shm": _shm(),
        "open_files": {"soft": soft, "hard": hard},
    }


def _open_files() -> tuple[int, int]:
    """Soft and hard limit."""
    try:
        import resource
    except ImportError:  # Windows
        return UNLIMITED, UNLIMITED
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _shm() -> dict[str, int] | None:
    try:
        stat = os.statvfs(SHM)
    except (OSError, AttributeError):  # Windows has no such call
        return None
    return {"total": stat.f_frsize * stat.f_blocks, "free": stat.f_frsize * stat.f_bavail}


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


# --- the libraries ---


def extensions() -> list[Json]:
    """What other distributions add to fastload: group, name, distribution, its version; and
    problem: None, or the line that says what is wrong.
    """
    from fastload.transforms.registry import OPS  # needs the native module

    return [
        {
            "group": table.group,
            "name": name,
            "distribution": table.distribution(name),
            "version": version_of(table.distribution(name)),
            "problem": table.problem(name),
        }
        for table in (*TABLES, OPS)
        for name in table.others()
    ]


def backend_problems() -> dict[str, str]:
    """Why a backend whose library is installed cannot be used, with the line that mends it."""
    from fastload.backends.dali import installed as dali_installed
    from fastload.backends.ffcv import installed as ffcv_installed  # need the native module

    problems = {}
    if version_of("ffcv"):
        problems["ffcv"] = ffcv_installed.problem() or ffcv_installed.unloadable()
    if version_of(*DALI):
        problems["dali"] = "; ".join(dali_installed.missing())
    return {name: problem for name, problem in problems.items() if problem}


def pillow() -> Json:
    """Which Pillow `import PIL` gives:

    Pillow-SIMD has the same module and a version like 9.5.0.post2.
    """
    import PIL
    from PIL import features

    simd = ".post" in PIL.__version__
    turbo = (
        features.version_feature("libjpeg_turbo")
        if features.check_feature("libjpeg_turbo")
        else None
    )
    return {
        "name": "Pillow-SIMD" if simd else "Pillow",
        "version": PIL.__version__,
        "simd": simd,
        "libjpeg_turbo": turbo,
    }


def torch_facts() -> Json:
    import torch

    return {"version": str(torch.__version__), "cuda": torch.version.cuda} | gpus.gpu_facts()


def native() -> Json:
    try:
        module = importlib.import_module("fastload._native")
        if module.MISSING:
            raise ImportError(module.MISSING.partition(";")[0])
    except ImportError as error:
        text = str(error).splitlines()[0]
        return {
            "ok": False,
            "error": text,
            "targets": [],
            "versions": {},
            "cuda_built": False,
            "architectures": [],
        }
    return {
        "ok": True,
        "error": None,
        "targets": module.targets(),
        "versions": module.versions(),
        "cuda_built": module.cuda_built,
        "architectures": list(module.cuda_architectures),
    }


# --- what to make of it ---


def warnings_about(facts: Json) -> list[str]:
    """What would slow loading down or break it: what (got, want); what to do."""
    cores, shm, files = (facts["system"][name] for name in ("cores", "shm", "open_files"))
    out = []
    if cores["quota"] is not None and cores["quota"] < cores["affinity"]:
        out.append(
            f"CPU quota: {cores['quota']:g} cores of the {cores['affinity']} that programs see; "
            f"use {cores['usable']} workers or raise it"
        )
    if shm is None or shm["total"] < SMALL_SHM:
        size = "missing" if shm is None else human(shm["total"])
        out.append(
            f"{SHM}: {size}, want {human(SMALL_SHM)} for PyTorch's workers; docker run "
            "--shm-size=8g (fastload needs none)"
        )
    if files["soft"] != UNLIMITED and files["soft"] < FEW_FILES:
        out.append(
            f"open files: limit is {files['soft']}, want {FEW_FILES}; ulimit -n "
            f"{_wanted_files(files['hard'])}"
        )
    if facts["torch"]["gpus"] and (facts["nvimagecodec"] or "").startswith(BROKEN_CODEC):
        so = "on the GPU, backend dali decodes whole images, and dali-own refuses"
        out.append(
            f"nvImageCodec: {facts['nvimagecodec']} fails on parts of JPEGs: {so}; {WHOLE_CODEC} "
            "brings 0.8"
        )
    out += _clash(facts["optional"]["timm"]["version"], facts["pillow"])
    out += [f"backend {name}: {problem}" for name, problem in facts["backends"].items()]
    out += [each["problem"] for each in facts["extensions"] if each["problem"]]
    return [*out, *gpus.warnings(facts)]


def _clash(timm: str | None, pillow: Json) -> list[str]:
    """timm's RandAugment at high magnitudes keeps 0 bits of an image; up to 1.0.31 at least."""
    if not timm or pillow["simd"] or int(pillow["version"].split(".")[0]) < REFUSES_NO_BITS:
        return []
    what = "timm's Posterize may keep 0 bits, which Pillow 13 refuses in the middle of an epoch"
    return [f'timm {timm} with Pillow {pillow["version"]}: {what}; pip install "pillow<13"']


def _wanted_files(hard: int) -> int:
    return 65536 if hard == UNLIMITED else min(hard, 65536)
