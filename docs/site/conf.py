# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's configuration. build.py makes the source folder and calls Sphinx."""

import plain_text
from sphinx import addnodes

project = "gr-cudaphy"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
# A page may begin with any level below its title.
suppress_warnings = ["myst.header"]
smartquotes = False  # takes a tenth of the time
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


def without_sections(contents):
    """A page's title alone, unless there are other pages below it."""
    if any(contents.findall(addnodes.toctree)):
        return contents
    made = contents.deepcopy()
    for title in made.children:
        title[:] = title[:1]
    return made


def shorten_contents(app, page, template, context, doctree):
    """The theme folds every other page's sections away; copying them takes half of the time."""
    environment = app.env
    if not hasattr(app, "whole_contents"):
        app.whole_contents = dict(environment.tocs)
        app.short_contents = {
            name: without_sections(toc) for name, toc in environment.tocs.items()
        }
    environment.tocs = {**app.short_contents}
    if page in app.whole_contents:
        environment.tocs[page] = app.whole_contents[page]


def setup(app):
    app.connect("autodoc-process-docstring", rewrite_docstring)
    app.connect("html-page-context", shorten_contents)
