#!/usr/bin/env python3
"""Prepares the sources of the documentation's site for mdbook, and finishes the pages that mdbook has made.

usage: scripts/site.py prepare FOLDER          sources of two books: FOLDER/manual and FOLDER/engineering
       scripts/site.py finish SITE FOLDER      navigation, twins in Markdown, llms.txt, sections for the search
       scripts/site.py lengths                 how-tos with more than 900 words, reference tables with more than three columns
LAMINA_REPOSITORY=https://… adds "Edit this page". Nothing is published yet, so there is no address by default.
"""

import html
import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
KINDS = {"start": "Start", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation"}
ENGINEERING = ["ARCHITECTURE.md", "CONTRIBUTING.md", "segment-format.md", "database-format.md"]
REPOSITORY = os.environ.get("LAMINA_REPOSITORY", "").rstrip("/")
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
BOOK = """[book]
title = "{title}"
language = "en"
src = "src"

[output.html]
no-section-label = true
hash-files = false
search.enable = false
print.enable = false
"""


def places():
    """Path on the site of each page of the repository."""
    found = {}
    for path in sorted(DOCS.rglob("*.md")):
        inside = path.relative_to(DOCS).as_posix()
        if inside.startswith(("site/", "decisions/")) or inside == "SUMMARY.md":
            continue
        found[path.relative_to(ROOT).as_posix()] = inside
    for path in sorted((DOCS / "decisions").glob("*.md")):
        name = "index.md" if path.name == "README.md" else path.name
        found[f"docs/decisions/{path.name}"] = f"engineering/decisions/{name}"
    for name in ENGINEERING:
        found[name] = f"engineering/{name}"
    found |= {"CHANGELOG.md": "reference/changes.md", "SECURITY.md": "explanation/reporting.md", "README.md": "index.md"}
    return found


def moved(text, page, site):
    """The text of a page with its links as the site needs them. Files that are no pages are named, not linked."""
    here = site[page]

    def link(match):
        target = match[1]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, _, anchor = target.partition("#")
        whole = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if whole in site:
            to = os.path.relpath(site[whole], os.path.dirname(here) or ".")
            return f"]({to}{'#' + anchor if anchor else ''})"
        if whole.startswith("docs/") and (ROOT / whole).is_file() and not whole.endswith(".md"):
            return f"]({os.path.relpath(whole.removeprefix('docs/'), os.path.dirname(here) or '.')})"
        return "](\0)"

    parts = CODE.split(text)
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    return re.sub(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(\0\)", r"\1", "".join(parts))


def prepare(folder):
    shutil.rmtree(folder, ignore_errors=True)
    site = places()
    for book, title in (("manual", "Lamina"), ("engineering", "Engineering of Lamina")):
        (folder / book / "theme").mkdir(parents=True)
        (folder / book / "book.toml").write_text(BOOK.format(title=title))
        template = (DOCS / "site/template.hbs").read_text().replace("<!--up-->", "" if book == "manual" else "../")
        (folder / book / "theme/index.hbs").write_text(template)
    for page, place in site.items():
        if page == "README.md":
            continue
        book, inside = ("engineering", place.removeprefix("engineering/")) if place.startswith("engineering/") else ("manual", place)
        target = folder / book / "src" / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(moved((ROOT / page).read_text(), page, site))
    for name in ("pictures", "recipes"):
        shutil.copytree(DOCS / name, folder / "manual/src" / name)
    shutil.copy(DOCS / "page.png", folder / "manual/src")
    contents = (DOCS / "SUMMARY.md").read_text()
    (folder / "manual/src/SUMMARY.md").write_text(
        contents.replace("../CHANGELOG.md", "reference/changes.md").replace("../SECURITY.md", "explanation/reporting.md")
    )
    decisions = sorted((folder / "engineering/src/decisions").glob("[0-9]*.md"))
    entries = [f"- [{title_of(path.read_text())}](decisions/{path.name})" for path in decisions]
    (folder / "engineering/src/SUMMARY.md").write_text(
        "# Summary\n\n- [Architecture](ARCHITECTURE.md)\n- [Segment file](segment-format.md)\n- [Database folder](database-format.md)\n"
        "- [Contributing](CONTRIBUTING.md)\n- [Decisions](decisions/index.md)\n" + "\n".join(f"  {entry}" for entry in entries) + "\n"
    )


def title_of(text):
    return re.search(r"^# +(.*)$", text, re.MULTILINE)[1].replace("`", "")


def plain(text):
    """Markdown as words."""
    text = re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*|>#]|^-{3,}$|\[!\w+\]|:?-{3,}:?", " ", text, flags=re.MULTILINE).split())


def lead_of(text):
    """The first paragraph below the title."""
    behind = re.sub(r"<!--.*?-->", "", text.partition("\n# ")[2] if not text.startswith("# ") else text, flags=re.DOTALL)
    for block in behind.split("\n\n")[1:]:
        if block.strip() and not block.lstrip().startswith(("#", "```", "|", "<", "![", "- ", "* ", ">")):
            return plain(block)
    return ""


def anchor_of(heading):
    text = re.sub(r"\]\([^)]*\)", "", heading).replace("[", "").strip().lower()
    return "".join(c for c in text if c.isalnum() or c in " -_").replace(" ", "-")


def sections(text):
    """Anchor, title, level and text of each part of a page; the part above the first heading has no anchor."""
    parts, fence = [["", title_of(text), 1, []]], False
    for line in text.splitlines():
        fence ^= line.lstrip().startswith("```")
        heading = None if fence else re.match(r"(#{2,4}) +(.*)$", line)
        if heading:
            parts.append([anchor_of(heading[2]), heading[2].replace("`", ""), len(heading[1]), []])
        elif not (not fence and line.startswith("# ")):
            parts[-1][3].append(line)
    return [(anchor, title, level, "\n".join(lines)) for anchor, title, level, lines in parts]


def contents():
    """Kind of page by its heading in SUMMARY.md, group, title and path of all pages of the manual."""
    pages, kind, group = [], "", ""
    for line in (DOCS / "SUMMARY.md").read_text().splitlines():
        if heading := re.match(r"# (.*)$", line):
            name, _, group = heading[1].partition(": ")
            kind = name if name in KINDS.values() else ""
        elif entry := re.match(r"(?:- )?\[(.*?)\]\((.*?)\)", line):
            path = {"../CHANGELOG.md": "reference/changes.md", "../SECURITY.md": "explanation/reporting.md"}.get(entry[2], entry[2])
            pages.append((kind, group, entry[1], path))
    return pages


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".")


def navigation(pages, page, kind):
    """The list of pages beside a page: those of its kind open, the others one step away."""
    made = []
    for one in KINDS.values():
        groups = {}
        for of_kind, group, title, path in pages:
            if of_kind == one:
                groups.setdefault(group, []).append((title, path))
        if one != kind:
            first = next(iter(groups.values()))[0][1]
            made.append((1, f'<ul class="other"><li><a href="{relative(first, page).replace(".md", ".html")}">{one}</a></li></ul>'))
            continue
        for group, entries in groups.items():
            made.append((0, f"<h2>{html.escape(group or one)}</h2><ul>"))
            for title, path in entries:
                current = ' aria-current="page"' if path == page else ""
                made.append((0, f'<li><a href="{relative(path, page).replace(".md", ".html")}"{current}>{html.escape(title)}</a></li>'))
            made.append((0, "</ul>"))
    own = "".join(text for other, text in made if not other)
    others = "".join(text for other, text in made if other)
    return own + ("<h2>Other kinds of pages</h2>" + others if others and own else others)


def engineering_navigation(page):
    entries = [("Architecture", "ARCHITECTURE.md"), ("Segment file", "segment-format.md"), ("Database folder", "database-format.md"),
               ("Contributing", "CONTRIBUTING.md"), ("Decisions", "decisions/index.md")]
    rows = []
    for title, path in entries:
        current = ' aria-current="page"' if f"engineering/{path}" == page else ""
        rows.append(f'<li><a href="{relative("engineering/" + path, page).replace(".md", ".html")}"{current}>{title}</a></li>')
    return "<h2>Engineering</h2><ul>" + "".join(rows) + "</ul>" + f'<h2>Manual</h2><ul><li><a href="{relative("index.html", page)}">Back to the manual</a></li></ul>'


def kinds(pages, page, kind):
    links = []
    for name in KINDS.values():
        first = next(path for of_kind, _, _, path in pages if of_kind == name)
        current = ' aria-current="true"' if name == kind else ""
        links.append(f'<a href="{relative(first, page).replace(".md", ".html")}"{current}>{name}</a>')
    return "".join(links)


def headings(parts):
    shown = [(anchor, title, level) for anchor, title, level, _ in parts if anchor and level <= 3]
    if len(shown) > 40:
        shown = [part for part in shown if part[2] == 2]
    if len(shown) < 2:
        return ""
    rows = "".join(
        f'<li{" class=deeper" if level > 2 else ""}><a href="#{html.escape(anchor)}">{html.escape(title)}</a></li>' for anchor, title, level in shown
    )
    return f"<h2>On this page</h2><ul>{rows}</ul>"


def around(pages, page, source):
    order = [entry for entry in pages if entry[3] != "index.md"]
    made = []
    at = next((i for i, entry in enumerate(order) if entry[3] == page), None)
    if at is not None:
        for place, arrow in ((at - 1, "← {}"), (at + 1, "{} →")):
            if 0 <= place < len(order):
                _, _, title, path = order[place]
                made.append(f'<a href="{relative(path, page).replace(".md", ".html")}">{arrow.format(html.escape(title))}</a>')
    twin = relative(page, page)
    edit = f' · <a href="{REPOSITORY}/edit/main/{source}">Edit this page</a>' if REPOSITORY else ""
    return "".join(made) + f'<span class="source"><a href="{twin}">This page as Markdown</a>{edit} · <a href="{relative("engineering/ARCHITECTURE.html", page)}">Engineering</a></span>'


def finish(site_folder, folder):
    pages, site = contents(), places()
    source_of = {place: page for page, place in site.items() if page != "README.md"}
    kind_of = {path: kind for kind, _, _, path in pages}
    found, llms = [], []
    for path in sorted(site_folder.rglob("*.html")):
        inside = path.relative_to(site_folder).with_suffix(".md").as_posix()
        if inside not in source_of:
            path.unlink()
            continue
        is_engineering = inside.startswith("engineering/")
        source = folder / ("engineering/src/" + inside.removeprefix("engineering/") if is_engineering else "manual/src/" + inside)
        text, kind = source.read_text(), kind_of.get(inside, "")
        parts = sections(text)
        shutil.copy(source, path.with_suffix(".md"))
        # mdbook adds a second, larger copy of each picture.
        made = re.sub(r'<label class="checkbox-label"><input[^>]*>(<img [^>]*>)<span class="img-wrapper">.*?</span></label>', r"\1", path.read_text())
        for name, value in {
            "lead": html.escape(lead_of(text)[:160]),
            "class": "home" if inside == "index.md" else "",
            "kinds": kinds(pages, inside, kind),
            "nav": engineering_navigation(inside) if is_engineering else navigation(pages, inside, kind),
            "headings": headings(parts),
            "around": around(pages, inside, source_of[inside]),
        }.items():
            made = made.replace(f"<!--{name}-->", value)
        path.write_text(made)
        if is_engineering or inside == "index.md":
            continue
        if inside not in kind_of:
            sys.exit(f"docs/SUMMARY.md has no {inside}")
        also = " ".join(re.findall(r"<!-- also: (.*?) -->", text))
        for anchor, title, level, words in parts:
            where = path.relative_to(site_folder).as_posix() + ("#" + anchor if anchor else "")
            found.append({"url": where, "page": title_of(text) if not anchor else "", "of": title_of(text), "title": title if anchor else title_of(text),
                          "also": also if not anchor else "", "text": plain(words), "kind": kind, "lead": (plain(re.sub(r"```.*?```", " ", words, flags=re.DOTALL)) or lead_of(text))[:140]})
    (site_folder / "sections.json").write_text(json.dumps(found))
    write_llms(site_folder, pages, folder)
    for name in ("site.css", "site.js", "find.js", "mark.svg"):
        shutil.copy(DOCS / "site" / name, site_folder)
    shutil.copy(site_folder / "mark.svg", site_folder / "favicon.svg")
    keep_only_used(site_folder)


def write_llms(site_folder, pages, folder):
    lines = [
        "# Lamina", "",
        "> A search engine in one binary with an HTTP interface that is compatible with Meilisearch v1: documents are JSON, searches tolerate typos and take "
        "milliseconds. Default address: http://localhost:7700. Writes return 202 with a task; add ?wait=searchable to wait until they are searchable. "
        "All routes with schemas and examples: GET /openapi.json; the same as a page: GET /docs/api; this manual: GET /docs, with a search at GET /docs/search?q=…; error codes: GET /docs/errors.",
        "", "Every page of the site has a twin in Markdown: replace .html by .md.",
    ]
    before = None
    for kind, group, title, path in pages:
        if path == "index.md":
            continue
        heading = f"{kind}: {group}" if group else kind
        if heading != before:
            lines += ["", f"## {heading}", ""]
            before = heading
        lead = lead_of((folder / "manual/src" / path).read_text())
        lines.append(f"- [{title}]({path})" + (f": {lead.split('. ')[0].rstrip('.')}" if lead else ""))
    (site_folder / "llms.txt").write_text("\n".join(lines) + "\n")


def keep_only_used(site_folder):
    """mdbook brings its own theme: what the pages do not use goes."""
    for book in (site_folder, site_folder / "engineering"):
        for name in ("css", "fonts", "FontAwesome"):
            shutil.rmtree(book / name, ignore_errors=True)
        for pattern in ("*.css", "toc*", "book*.js", "clipboard*.js", "favicon.png", "404.md", "searcher*.js", "elasticlunr*", "mark.min.js", "highlight.js", "favicon.svg"):
            for path in book.glob(pattern):
                if book != site_folder or path.name not in ("site.css", "highlight.js", "favicon.svg"):
                    path.unlink()


def lengths():
    """The bounds that the pages keep."""
    wrong = []
    for path in sorted((DOCS / "how-to").rglob("*.md")):
        count = len(plain(re.sub(r"```.*?```", " ", path.read_text(), flags=re.DOTALL)).split())
        if count > 900:
            wrong.append(f"{path.relative_to(ROOT)}: {count} words; a how-to has at most 900")
    for path in sorted((DOCS / "reference").rglob("*.md")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.fullmatch(r"\|(\s*:?-+:?\s*\|){4,}", line) and path.name != "languages.md":
                wrong.append(f"{path.relative_to(ROOT)}:{number}: a table of {line.count('|') - 1} columns; a reference has at most 3")
    print("\n".join(wrong) or "lengths: passed")
    return 1 if wrong else 0


match sys.argv[1:]:
    case ["prepare", folder]:
        prepare(pathlib.Path(folder))
    case ["finish", site_folder, folder]:
        finish(pathlib.Path(site_folder), pathlib.Path(folder))
    case ["lengths"]:
        sys.exit(lengths())
    case _:
        sys.exit(__doc__)
