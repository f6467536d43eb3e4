"""Places where tests/mutation.py breaks nothing: no result changes, or only the time that it takes.

Each entry: files, what stands there, what it becomes (None for anything), why no test can or should see it.
"""

import fnmatch
import re

EQUIVALENT = [
    ("*", "strict=True", "strict=False", "lengths are equal by how they are made: it finds mistakes early"),
    ("*", "inline=True", "inline=False", "how a traced program is printed"),
]


def is_equivalent(path, before, after):
    """Tell whether a changed line is one of the entries."""
    before, after = (re.sub(r"\s", "", line) for line in (before, after))
    for files, old, new, _ in EQUIVALENT:
        old = re.sub(r"\s", "", old)
        if not fnmatch.fnmatch(path, files):
            continue
        for place in re.finditer(re.escape(old), before):
            left, right = before[: place.start()], before[place.end() :]
            if new is None and after.startswith(left) and after.endswith(right):
                return True
            if new is not None and after == left + re.sub(r"\s", "", new) + right:
                return True
    return False
