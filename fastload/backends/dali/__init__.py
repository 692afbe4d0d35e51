"""NVIDIA DALI as a backend: fastload's draws on DALI's operators, or DALI's own draws."""
