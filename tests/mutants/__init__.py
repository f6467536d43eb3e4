"""Small changes to jaxapi that its tests should notice: `nox -s mutants`."""
