# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's configuration. build.py makes the source folder and calls Sphinx."""

import plain_text

project = "gr-cudaphy"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
# A page may begin with any level below its title.
suppress_warnings = ["myst.header"]
html_theme = "sphinx_rtd_theme"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
# Code blocks without a language hold pictures made of characters.
highlight_language = "none"
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"


def rewrite_docstring(app, what, name, thing, options, lines):
    lines[:] = plain_text.to_rst(lines)


def setup(app):
    app.connect("autodoc-process-docstring", rewrite_docstring)
