"""An array job for Slurm: tasks that make units, and a last one that commits."""

import shlex
import sys
from collections.abc import Sequence

SCRIPT = """\
#!/bin/sh
# {tasks} tasks make {units} parts; then one takes them, and ends the job.
# Run it where sbatch is: sh SCRIPT. Partition, time, account: SBATCH_PARTITION and the like.
# After tasks that were killed, submit it once more, or run the last command by hand.
set -e
cd {folder}
array=$(sbatch --parsable --job-name=fastload-units --cpus-per-task=1 --array=0-{last} \\
    --output=fastload-units-%A_%a.log --wrap={task})
sbatch --job-name=fastload-commit --dependency=afterany:${{array%%;*}} \\
    --output=fastload-commit-%j.log --wrap={commit}
"""


def script(drop: str, units: int, tasks: int, arguments: Sequence[str], folder: str) -> str:
    """A shell script that submits both.

    drop: the folder that knows what `units` units are made by; tasks: how many, at most one for
    each unit; arguments: of `fastload`, for the last step; folder: where that runs.
    """
    tasks = min(tasks, units)
    step = -(-units // tasks)
    python = shlex.quote(sys.executable)
    # Each begins at another unit
    first = f"$((SLURM_ARRAY_TASK_ID * {step}))"
    task = f"{python} -m fastload.conversion.cluster.task {shlex.quote(drop)} {first}"
    commit = f"{python} -m fastload {shlex.join(arguments)}"
    return SCRIPT.format(
        tasks=tasks, units=units, last=tasks - 1,
        folder=shlex.quote(folder), task=shlex.quote(task), commit=shlex.quote(commit),
    )  # fmt: skip
