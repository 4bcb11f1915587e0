"""Removes compiled bytecode that was lying in the template, so that equal answers always give equal files.

cookiecutter copies the runtime folder as it stands, and running the template's own tests leaves __pycache__ there.
Nothing else: making a repository, a virtual environment or a lock file is the user's decision.
"""

import os
import shutil

for folder, children, _ in os.walk("src"):
    if "__pycache__" in children:
        children.remove("__pycache__")
        shutil.rmtree(os.path.join(folder, "__pycache__"))
