"""Components, clusters and spanning trees of points: by SciPy on the host, by kernels on GPUs."""
