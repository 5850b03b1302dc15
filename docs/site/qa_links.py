#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of links finds each kind of broken link, and lets good ones pass."""

import tempfile
import unittest
from pathlib import Path

import links


class qa_links(unittest.TestCase):
    def problems(self, check, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name.replace("__", "/").replace("_", "."))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return list(check(Path(folder)))

    def test_good_links_pass(self):
        page = '<a href="b/c.html#x">1</a><img src="p.svg"><a href="#y" id="y">2</a>'
        page += '<a href="https://sigmf.org/a?b=c#d">3</a><a href="mailto:a@b.org">4</a>'
        found = self.problems(
            links.html_problems, a_html=page, b__c_html='<h1 id="x">', p_svg=""
        )
        self.assertEqual(found, [])

    def test_each_broken_link_of_a_page_is_found(self):
        for link in (
            "none.html",
            "b.html#none",
            "#none",
            "../a.html",
            "http:/b.org",
            "https://no_host",
            "ftp://b.org/x",
            "mailto:nobody",
            "b",
        ):
            page = f'<a href="{link}">x</a>'
            found = self.problems(links.html_problems, a_html=page, b_html="")
            self.assertEqual(len(found), 1, link)
            self.assertIn(link, found[0])

    def test_a_site_without_pages_is_a_fault(self):
        self.assertEqual(len(self.problems(links.html_problems)), 1)

    def test_links_of_markdown_pages_are_checked(self):
        good = "# A `b` c, d\n[x](#a-b-c-d) [y](b.md#e--f) [z](https://b.org)\n"
        good += "```\n[no](link.md)\n# no heading\n```\n"
        other = "## E — f\n[up](a.md)\n"
        check = links.markdown_problems
        self.assertEqual(self.problems(check, a_md=good, b_md=other), [])
        for link in ("c.md", "#no-heading", "b.md#g", "https://host"):
            page = good + f"[bad]({link})\n"
            (line,) = self.problems(check, a_md=page, b_md=other)
            self.assertIn(link, line)


if __name__ == "__main__":
    unittest.main()
