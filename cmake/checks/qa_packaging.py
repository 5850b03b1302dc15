#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the files for publication finds each kind of fault."""

import shutil
import tempfile
import unittest
from pathlib import Path

import packaging
import tree

release = packaging.release


def copied(folder):
    """The files that name the version or an address, below a folder."""
    for file, _ in release.VERSION + release.ADDRESS + release.SITE:
        to = Path(folder, file)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.ROOT / file, to)
    return Path(folder)


class qa_packaging(unittest.TestCase):
    def test_a_version_that_differs_is_found(self):
        for file, pattern in release.VERSION[1:]:
            with tempfile.TemporaryDirectory() as folder:
                root = copied(folder)
                self.assertEqual(release.disagreements(root), [])
                release.write(root, [(file, pattern)], "99.1.2")
                (line,) = release.disagreements(root)
                self.assertIn("99.1.2", line)

    def test_version_and_address_are_written_everywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            root = copied(folder)
            release.write(root, release.VERSION, "3.2.1")
            release.write(root, release.ADDRESS, "https://forge.example/a/b")
            self.assertEqual(release.disagreements(root), [])
            for file, value in release.found(root, release.VERSION):
                self.assertEqual(value, "3.2.1", file)
            recipe = (root / ".conda/recipe/meta.yaml").read_text()
            self.assertIn("https://forge.example/a/b/archive/v{{ version }}", recipe)

    def test_a_block_that_links_elsewhere_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = copied(folder)
            release.write(root, release.SITE, "https://docs.example/x")
            self.assertEqual(release.disagreements(root), [])
            block = root / release.SITE[1][0]
            self.assertIn("\ndoc_url: https://docs.example/x/blocks/", block.read_text())
            for old, new in (("docs.example", "other.example"), (".html", "")):
                text = block.read_text()
                block.write_text(text.replace(old, new))
                (line,) = release.disagreements(root)
                self.assertIn(release.SITE[1][0], line)
                block.write_text(text)

    def test_a_workflow_that_a_forge_would_refuse_is_found(self):
        job = {"runs-on": "here", "steps": [{"run": "packaging/none.sh"}, {}]}
        workflow = {"name": "x", "permissions": {}, "jobs": {"one": job}}
        lines = list(packaging.workflow_problems("x.yml", workflow))
        self.assertEqual(len(lines), 2)
        self.assertIn("packaging/none.sh", lines[0])
        lines = list(packaging.workflow_problems("x.yml", {"jobs": {"one": {}}}))
        self.assertEqual(len(lines), 3)

    def test_manifests_that_differ_are_found(self):
        (line,) = packaging.manifest_problems({"title": "a"}, {"title": "b"})
        self.assertIn("title", line)

    def test_a_file_in_no_package_or_in_two_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = Path(folder)
            for name in ("usr/bin/cudaphy_ber", "usr/sbin/other"):
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).write_text("")
            lines = list(packaging.unpackaged(stage))
            self.assertEqual(len(lines), 2)
            self.assertTrue(all("usr/sbin/other" in line for line in lines))
            self.assertEqual(len(list(packaging.unpackaged(stage / "none"))), 1)


if __name__ == "__main__":
    unittest.main()
