"""What `fastload doctor` says of GPUs: what torch sees, the driver, and whether fastload's kernels
run on them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastload.conversion.units import human
from fastload.spec import Json

DRIVER = Path("/proc/driver/nvidia/version")


def gpu_facts() -> Json:
    """Of each GPU: name, compute capability, memory in bytes; the driver's version and the newest
    CUDA that it knows. None: not known.
    """
    import torch

    try:
        gpus = (
            [_gpu(number) for number in range(torch.cuda.device_count())]
            if torch.cuda.is_available()
            else []
        )
    except RuntimeError as error:  # it is there, and does not answer
        return {
            "gpus": [],
            "error": str(error).splitlines()[0],
            "driver": driver(),
            "driver_cuda": None,
        }
    return {"gpus": gpus, "error": None, "driver": driver(), "driver_cuda": _driver_cuda()}


def _gpu(number: int) -> Json:
    import torch

    facts = torch.cuda.get_device_properties(number)
    capability = torch.cuda.get_device_capability(number)
    return {
        "name": torch.cuda.get_device_name(number),
        "capability": list(capability),
        "memory": facts.total_memory,
    }


def driver() -> str | None:
    """The version of NVIDIA's kernel module, such as 580.65.06."""
    try:
        match = re.search(
            r"Module(?: for \S+)?\s+(\d+(?:\.\d+)+)",
            DRIVER.read_text(encoding="utf-8", errors="replace"),
        )
    except OSError:
        return None
    return match[1] if match else None


def _driver_cuda() -> str | None:
    import torch

    asked = getattr(torch._C, "_cuda_getDriverVersion", None)  # builds without CUDA have none
    number = asked() if asked else 0
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def lines(facts: Json) -> Iterator[tuple[str, str]]:
    """A line for each GPU and one for the driver; facts: what `doctor` knows."""
    torch, ours = facts["torch"], facts["native"]
    for number, gpu in enumerate(torch["gpus"]):
        text = (
            f"{gpu['name']}, compute capability {_text(gpu['capability'])}, {human(gpu['memory'])}"
        )
        run = {
            None: "",
            True: "; fastload's kernels run on it",
            False: "; fastload's kernels do not run on it",
        }
        yield f"gpu {number}", text + run[_runs(gpu, ours)]
    if torch["driver"] or torch["driver_cuda"]:
        yield (
            "driver",
            (
                f"{torch['driver'] or 'version unknown'}, for CUDA up to "
                f"{torch['driver_cuda'] or 'unknown'}"
            ),
        )


def warnings(facts: Json) -> Iterator[str]:
    """What keeps fastload from using a GPU that is there: what (got, want); what to do."""
    torch, ours = facts["torch"], facts["native"]
    if torch["error"]:
        yield f"GPU: torch cannot ask it ({torch['error']}); look at nvidia-smi"
    elif torch["cuda"] and torch["driver"] and not torch["gpus"] and ours["ok"]:
        yield f"GPU: {_why_none()}"
    if not torch["gpus"] or not ours["ok"]:
        return
    if not ours["cuda_built"]:
        yield (
            "CUDA kernels: not built, but there is a GPU; install with nvcc on PATH for "
            'DataLoader(device="cuda")'
        )
        return
    for number, gpu in enumerate(torch["gpus"]):
        if not _runs(gpu, ours):
            got = _text(gpu["capability"])
            want = ", ".join(_text(divmod(one, 10)) for one in ours["architectures"])
            build = f"build with -DCMAKE_CUDA_ARCHITECTURES={got.replace('.', '')}"
            yield (
                f"GPU {number} ({gpu['name']}): compute capability {got}, fastload's kernels "
                f"want {want} or newer; {build}"
            )
    built, known = str(ours["versions"].get("cuda")), torch["driver_cuda"]
    if (
        known
        and built.partition(".")[0].isdigit()
        and int(known.partition(".")[0]) < int(built.partition(".")[0])
    ):
        yield (
            f"NVIDIA driver: knows CUDA up to {known}, fastload's kernels are built with "
            f"{built}; update the driver"
        )


def _why_none() -> str:
    from fastload.system import devices  # needs the native module

    return devices.why_none()


def _runs(gpu: Json, ours: Json) -> bool | None:
    """Whether fastload's kernels run on it; None where there are none."""
    if not ours["ok"] or not ours["cuda_built"]:
        return None
    from fastload.system import devices

    major, minor = gpu["capability"]
    return devices.runs_on((major, minor), tuple(ours["architectures"]))


def _text(capability: Any) -> str:
    return ".".join(map(str, capability))
