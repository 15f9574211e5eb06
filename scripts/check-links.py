#!/usr/bin/env python3
"""Checks that every link of a site of HTML pages leads to a page, and its fragment to a place on that page.

usage: scripts/check-links.py FOLDER
"""

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if attributes.get("id"):
            self.ids.add(attributes["id"])
        if tag == "a" and attributes.get("name"):
            self.ids.add(attributes["name"])
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    broken, count = [], 0
    for path, page in pages.items():
        # Pages that are made of others, and the one for addresses that do not exist, have links from elsewhere.
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            fragment = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.relative_to(root)}: {link}: there is no such page")
            elif fragment and target in pages and fragment not in pages[target].ids:
                broken.append(f"{path.relative_to(root)}: {link}: there is no such place on the page")
    print("\n".join(broken + [f"{len(pages)} pages, {count} links, {len(broken)} of them broken"]))
    return 1 if broken or not pages else 0


sys.exit(main())
