"""The KD-tree as data, its build, its metric: what all engines share."""
