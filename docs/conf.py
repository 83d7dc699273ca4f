"""How the documentation site is built: `make docs`."""

import sys
from pathlib import Path
from typing import Any

from banditboost import __version__, extending

sys.path.insert(0, str(Path(__file__).parent))  # mathml.py and reference_pages.py, beside this file

import reference_pages

project = "banditboost"
author = "The banditboost developers"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mathml",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "generated/*.py", "gallery"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_title = f"banditboost {__version__}"  # which version these pages are of, at the top of each
html_sidebars = {"index": []}  # nothing below it to list
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied can be pasted: no prompts, and no output
copybutton_prompt_is_regexp = True
autosummary_generate = False  # reference_pages.py writes the pages
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is; without it the theme complains
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
}


def _plain_text(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are read in terminals too: |w| and (N, *shape) mean themselves, not substitutions and emphasis."""
    literal = -1  # how far the line is indented that began a literal block, in which everything means itself already
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent <= literal:
            literal = -1
        if literal < 0 and ">>>" not in line:
            lines[i] = line.replace("*shape", r"\*shape").replace("|", r"\|")
        if line.endswith("::"):
            literal = indent


def setup(app: Any) -> None:
    """Hook into Sphinx, before the NumPy docstrings are read."""
    app.connect("autodoc-process-docstring", _plain_text, priority=100)


# Names that are imported when first used must be there before the reference looks for them.
for _name in extending.__all__:
    setattr(extending, _name, getattr(extending, _name))
reference_pages.write()
