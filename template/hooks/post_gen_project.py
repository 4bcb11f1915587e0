"""Removes compiled bytecode that was lying in the template, so that equal answers always give equal files; says what is
left to fill in.

cookiecutter copies the runtime folder as it stands, and running the template's own tests leaves __pycache__ there.
Nothing else: making a repository, a virtual environment or a lock file is the user's decision.
"""

import json
import os
import shutil

for folder, children, _ in os.walk("src"):
    if "__pycache__" in children:
        children.remove("__pycache__")
        shutil.rmtree(os.path.join(folder, "__pycache__"))

# The same way in as in pre_gen_project.py: no answer can end the string.
ANSWERS = json.loads(r"""{{ cookiecutter | tojson }}""")
if "EXAMPLE-ORG" in ANSWERS["module_source"]:
    print(
        "Before terraform init: `source` in terraform/main.tf still names EXAMPLE-ORG. "
        "Put the path of your clone of terraform-aws-background-jobs there, or the URL of your fork."
    )
