"""How Sphinx makes the documentation: `make python-docs`."""

import re
import shutil
from pathlib import Path
from typing import Any

import ioda

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

project = "ioda"
author = "the authors of ioda"
release = ioda.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
nitpicky = True
# What is Python's and NumPy's own is described elsewhere, and links leave this site only where they have to.
nitpick_ignore_regex = [(r"py:.*", r"(?!ioda\.(run|compare|sweep|Policy|Flag|Attempt|Table|Latency|Run)\b).*")]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
# `make python-test` runs them.
nb_execution_mode = "off"
myst_heading_anchors = 3


def _copied() -> None:
    """The guide and the notebooks, which are elsewhere in the project."""
    made = HERE / "_made"
    made.mkdir(exist_ok=True)
    guide = (ROOT / "docs/python.md").read_text()
    # The other pages are no part of this site.
    guide = re.sub(r"\[([^\]]*)\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", r"\1 (`docs/\2`)", guide)
    (made / "guide.md").write_text(guide)
    for notebook in sorted((ROOT / "python/examples").glob("*.ipynb")):
        shutil.copy(notebook, made / notebook.name)


def setup(app: Any) -> None:
    """Begins with what is copied."""
    _copied()
