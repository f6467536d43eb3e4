"""Searches by Pallas kernels on NVIDIA GPUs."""
