"""What a loader counts, for the tools that watch trainings: a callback, Prometheus, OpenTelemetry,
TensorBoard, Weights & Biases.

Nothing is counted for it that the loader does not count anyway, and nothing is imported until an
exporter is made. docs/metrics.md has every name.
"""

from fastload.metrics.by_opentelemetry import opentelemetry
from fastload.metrics.by_prometheus import prometheus
from fastload.metrics.by_tensorboard import tensorboard
from fastload.metrics.by_wandb import wandb
from fastload.metrics.exporter import Exporter
from fastload.metrics.following import Progress, progress
from fastload.metrics.names import Metric
from fastload.metrics.periodic import callback
from fastload.metrics.reading import Value

__all__ = [
    "Exporter",
    "Metric",
    "Progress",
    "Value",
    "callback",
    "opentelemetry",
    "progress",
    "prometheus",
    "tensorboard",
    "wandb",
]
