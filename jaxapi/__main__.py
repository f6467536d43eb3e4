"""``python -m jaxapi``: see `jaxapi._demo`."""

import sys

from ._demo._program import main

if __name__ == "__main__":
    sys.exit(main())
