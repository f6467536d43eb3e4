"""What the build of a wheel does besides packing: it writes the type stubs of what is made by importing."""

import os
import pathlib
import subprocess
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):
    """Write the stubs into the source tree, which is packed then, or which an editable install shows."""

    def initialize(self, version, build_data):
        """Run make_stubs.py on the sources that are built, not on an installed version."""
        root = pathlib.Path(self.root)
        path = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "JAX_PLATFORMS": "cpu"}
        subprocess.run([sys.executable, root / "make_stubs.py"], env=environment, cwd=root, check=True)
