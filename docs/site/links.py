#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""links.py HTML: fails if a link of the built site, or of a Markdown page of the repository, leads nowhere.

Links within the site must name a file, and a place in it if they have one. Links to elsewhere are checked by their
form alone, because a build has no network."""

import html.parser
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)
LETTER = re.compile(r"(functions|globals|namespacemembers)\w*\.html#index_\w")
HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d+)?")
SKIPPED = re.compile(r"build.*|output|\.git.*")  # folders


class Page(html.parser.HTMLParser):
    """Links and places of an HTML page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)

    handle_startendtag = handle_starttag


def outside_problem(link):
    """What is wrong with a link that leaves the site, or None."""
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return None if re.fullmatch(r"[^@\s]+@[^@\s]+", parts.path) else "no address"
    if parts.scheme not in ("http", "https"):
        return f"scheme {parts.scheme}"
    return None if HOST.fullmatch(parts.netloc) else f"host {parts.netloc!r}"


def html_problems(folder):
    """A line for each broken link of the site."""
    pages = {
        path: Page(path.read_text(errors="replace"))
        for path in sorted(folder.rglob("*.html"))
    }
    if not pages:
        yield f"{folder}: there are no pages"
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            where = f"{path.relative_to(folder)}: {link}"
            if link.startswith(("javascript:", "data:")):
                continue
            if re.match(r"[a-z][a-z0-9+.-]*:|//", link, re.IGNORECASE):
                problem = outside_problem(link)
                if problem:
                    yield f"{where}: {problem}"
                continue
            file, _, place = link.partition("#")
            file = unquote(file.partition("?")[0])
            target = (path.parent / file).resolve() if file else path
            if folder.resolve() not in (target, *target.parents):
                yield f"{where}: leaves the site"
            elif not target.is_file():
                yield f"{where}: there is no such file"
            elif place and target.suffix == ".html":
                known = pages[target].places
                # Doxygen 1.17 links to letters that its short indexes lack.
                if LETTER.fullmatch(f"{target.name}#{place}"):
                    continue
                if place not in known and unquote(place) not in known:
                    yield f"{where}: there is no such place"


def places_of(text):
    """The places of a Markdown page, as forges make them from its headings."""
    made = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        made.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return made


def markdown_pages(root):
    return [
        path
        for path in sorted(root.rglob("*.md"))
        if not any(map(SKIPPED.fullmatch, path.relative_to(root).parts))
    ]


def markdown_problems(root):
    """A line for each broken link of a Markdown page below root."""
    for path in markdown_pages(root):
        text = FENCE.sub("", path.read_text())
        for link in dict.fromkeys(LINK.findall(text)):
            where = f"{path.relative_to(root)}: {link}"
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                problem = outside_problem(link)
                if problem:
                    yield f"{where}: {problem}"
                continue
            file, _, place = link.partition("#")
            target = path.parent / file if file else path
            if not target.exists():
                yield f"{where}: there is no such file"
            elif place and target.suffix == ".md":
                if place not in places_of(target.read_text()):
                    yield f"{where}: there is no such heading"


def main():
    folder = Path(sys.argv[1]).resolve()
    problems = [*html_problems(folder), *markdown_problems(ROOT)]
    print("".join(f"{one}\n" for one in problems), end="")
    print(f"{len(problems)} links lead nowhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
