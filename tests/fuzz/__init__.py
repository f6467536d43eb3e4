"""Random configurations of every function, with NumPy, SciPy and eager results as oracles: `nox -s fuzz`."""
