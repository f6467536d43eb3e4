"""The standard's special cases of complex functions, as data.

One row a rule: the real and imaginary part of the argument, then those of the result. Parts of arguments
are values or classes of values (below); ``?inf`` is an infinity, ``?0`` a zero, of either sign. Rules are
given for the upper half plane; ``f(conj(z)) = conj(f(z))`` gives the other. Rules whose result is a
direction (``inf * cis(b)``) are checked against the formula in the tests.
"""

import math

CLASSES = {
    "fin": (-1e30, -2.5, -1.0, -1e-30, -0.0, 0.0, 1e-30, 1.0, 2.5, 1e30),
    "nonzero": (-1e30, -2.5, -1.0, -1e-30, 1e-30, 1.0, 2.5, 1e30),
    "pos": (1e-30, 1.0, 2.5, 1e30),
    "pos0": (0.0, 1e-30, 1.0, 2.5, 1e30),
    "0": (0.0, -0.0),
    "inf": (math.inf, -math.inf),
    "any": (-math.inf, -2.5, 0.0, 1.0, math.inf, math.nan),
}
VALUES = {
    "+0": 0.0,
    "-0": -0.0,
    "1": 1.0,
    "-1": -1.0,
    "+inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "pi/2": math.pi / 2,
    "-pi/2": -math.pi / 2,
    "pi/4": math.pi / 4,
    "3pi/4": 3 * math.pi / 4,
}
RULES = {
    "acos": """
        0     +0     pi/2   -0
        0     nan    pi/2   nan
        fin   +inf   pi/2   -inf
        nonzero nan  nan    nan
        -inf  pos    pi     -inf
        +inf  pos    +0     -inf
        -inf  +inf   3pi/4  -inf
        +inf  +inf   pi/4   -inf
        inf   nan    nan    ?inf
        nan   pos0   nan    nan
        nan   +inf   nan    -inf
        nan   nan    nan    nan""",
    "acosh": """
        0     +0     +0     pi/2
        fin   +inf   +inf   pi/2
        nonzero nan  nan    nan
        +0    nan    nan    ?pi/2
        -inf  pos    +inf   pi
        +inf  pos    +inf   +0
        -inf  +inf   +inf   3pi/4
        +inf  +inf   +inf   pi/4
        inf   nan    +inf   nan
        nan   pos0   nan    nan
        nan   +inf   +inf   nan
        nan   nan    nan    nan""",
    "asinh": """
        +0    +0     +0     +0
        pos   +inf   +inf   pi/2
        fin   nan    nan    nan
        +inf  pos    +inf   +0
        +inf  +inf   +inf   pi/4
        nan   +0     nan    +0
        nan   pos    nan    nan
        nan   +inf   ?inf   nan
        nan   nan    nan    nan""",
    "atanh": """
        +0    +0     +0     +0
        +0    nan    +0     nan
        1     +0     +inf   +0
        pos   +inf   +0     pi/2
        nonzero nan  nan    nan
        +inf  pos    +0     pi/2
        +inf  +inf   +0     pi/2
        +inf  nan    +0     nan
        nan   pos0   nan    nan
        nan   +inf   ?0     pi/2
        nan   nan    nan    nan""",
    "cosh": """
        +0    +0     1      +0
        +0    +inf   nan    ?0
        +0    nan    nan    ?0
        nonzero +inf nan    nan
        nonzero nan  nan    nan
        +inf  +0     +inf   +0
        +inf  +inf   ?inf   nan
        +inf  nan    +inf   nan
        nan   0      nan    ?0
        nan   nonzero nan   nan
        nan   nan    nan    nan""",
    "exp": """
        0     +0     1      +0
        fin   +inf   nan    nan
        fin   nan    nan    nan
        +inf  +0     +inf   +0
        -inf  +inf   ?0     ?0
        +inf  +inf   ?inf   nan
        -inf  nan    ?0     ?0
        +inf  nan    ?inf   nan
        nan   +0     nan    +0
        nan   nonzero nan   nan
        nan   inf    nan    nan
        nan   nan    nan    nan""",
    "expm1": """
        0     +0     +0     +0
        fin   +inf   nan    nan
        fin   nan    nan    nan
        +inf  +0     +inf   +0
        -inf  +inf   -1     ?0
        +inf  +inf   ?inf   nan
        -inf  nan    -1     ?0
        +inf  nan    ?inf   nan
        nan   +0     nan    +0
        nan   nonzero nan   nan
        nan   inf    nan    nan
        nan   nan    nan    nan""",
    "log": """
        -0    +0     -inf   pi
        +0    +0     -inf   +0
        fin   +inf   +inf   pi/2
        fin   nan    nan    nan
        -inf  pos    +inf   pi
        +inf  pos    +inf   +0
        -inf  +inf   +inf   3pi/4
        +inf  +inf   +inf   pi/4
        inf   nan    +inf   nan
        nan   pos0   nan    nan
        nan   +inf   +inf   nan
        nan   nan    nan    nan""",
    "log1p": """
        -1    +0     -inf   +0
        fin   +inf   +inf   pi/2
        fin   nan    nan    nan
        -inf  pos    +inf   pi
        +inf  pos    +inf   +0
        -inf  +inf   +inf   3pi/4
        +inf  +inf   +inf   pi/4
        inf   nan    +inf   nan
        nan   pos0   nan    nan
        nan   +inf   +inf   nan
        nan   nan    nan    nan""",
    "sinh": """
        +0    +0     +0     +0
        +0    +inf   ?0     nan
        +0    nan    ?0     nan
        pos   +inf   nan    nan
        pos   nan    nan    nan
        +inf  +0     +inf   +0
        +inf  +inf   ?inf   nan
        +inf  nan    ?inf   nan
        nan   +0     nan    +0
        nan   nonzero nan   nan
        nan   nan    nan    nan""",
    "sqrt": """
        0     +0     +0     +0
        any   +inf   +inf   +inf
        fin   nan    nan    nan
        -inf  pos    +0     +inf
        +inf  pos    +inf   +0
        -inf  nan    nan    ?inf
        +inf  nan    +inf   nan
        nan   pos0   nan    nan
        nan   nan    nan    nan""",
    "tanh": """
        +0    +0     +0     +0
        nonzero +inf nan    nan
        +0    +inf   +0     nan
        nonzero nan  nan    nan
        +0    nan    +0     nan
        +inf  pos    1      +0
        +inf  +inf   1      ?0
        +inf  nan    1      ?0
        nan   +0     nan    +0
        nan   nonzero nan   nan
        nan   nan    nan    nan""",
}


def cases(name):
    """Return the arguments and the expected (real, imaginary, real sign free, imaginary sign free)."""
    arguments, expected = [], []
    for line in RULES[name].strip().splitlines():
        a, b, real, imag = line.split()
        for x in CLASSES.get(a) or (VALUES[a],):
            for y in CLASSES.get(b) or (VALUES[b],):
                arguments.append(complex(x, y))
                expected.append((*_value(real), *_value(imag)))
    return arguments, expected


def _value(text):
    """Return a part of a result, and whether its sign is free."""
    if text[0] == "?":
        return {"?inf": math.inf, "?0": 0.0, "?pi/2": math.pi / 2}[text], True
    return VALUES[text], math.isnan(VALUES[text])
