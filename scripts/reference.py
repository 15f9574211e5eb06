#!/usr/bin/env python3
"""Writes the pages of the reference that follow from definitions elsewhere: options of the server from packaging/config.toml,
routes from tests/golden/openapi.json (tests keep both in step with the server), and the pictures that follow from figures.

usage: scripts/reference.py            (writes docs/reference/options.md, docs/reference/http-api.md and docs/pictures/bars*.svg)
       scripts/reference.py --check    (fails if one is out of date)
"""

import json
import pathlib
import re
import sys

import bars

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/reference"
OPTIONS = """# Server options

Every option of `lamina serve`. An option is an argument (`--db-path`), an environment variable (`SVC_DB_PATH`), or a line of a
configuration file (`db_path = "…"`). An argument counts before a variable, and a variable before the file.

<!-- also: configuration config.toml environment variables flags command line arguments master key port address -->

The file is `./config.toml`, or the one that `--config-file-path` names; `packaging/config.toml` has all options with their defaults.
If an `SVC_` variable is not set, Lamina reads the `MEILI_` variable of the same name and logs that.
Sizes are written like `64 MiB`, times like `30s`, `15m`, `6h` or `7d`.
This page is made from the options of the server, by `scripts/reference.py`.
"""
ROUTES = """# HTTP API

Every route of the server, by group. Each entry names the purpose and the action that a key needs.

<!-- also: rest api routes endpoints openapi swagger http methods -->

The running server has the same with all schemas, examples and error codes: open `/docs/api`, or download `/openapi.json`, an OpenAPI 3.1
description for generators of clients. This page is made from that description, by `scripts/reference.py`.

* The address of an index takes its uid or an [alias](../how-to/reindex.md).
* Send the key as `Authorization: Bearer KEY`.
* A write answers `202` with a task. With `?wait=searchable`, the answer comes when the write has taken effect, or after `waitMs`
  milliseconds (10,000; at most 60,000). `?customMetadata=` stores a text with the task.
* Bodies may be compressed (`Content-Encoding: gzip`, `deflate`, `br`, `zstd`), and so are answers (`Accept-Encoding`).
* Every response has an `X-Request-Id`: that of the request, or a new one.
* Searches with `GET` have an `ETag` that changes with every commit; `If-None-Match` gets `304` if nothing has changed, unless the index [records searches](../how-to/analytics.md).
"""


def options():
    made, group, about = [OPTIONS], None, []
    for line in (ROOT / "packaging/config.toml").read_text().splitlines():
        if heading := re.fullmatch(r"# ---- (.*) ----", line):
            made.append(f"\n## {heading[1]}\n")
            group, about = heading[1], []
        elif group and (option := re.fullmatch(r"# ([a-z0-9_]+) = (.*)", line)):
            name, default = option[1], option[2].strip('"')
            text = " ".join(about)
            shown = f"`{default}`" if default else "none" if "y default" not in text else "see above"
            made.append(
                f"\n### --{name.replace('_', '-')}\n\n{text}.\n\n| | |\n|---|---|\n| Default | {shown} |\n| Variable | `SVC_{name.upper()}` |\n"
            )
            about = []
        elif group and line.startswith("# "):
            about.append(line[2:])
    return "".join(made)


def routes():
    described = json.loads((ROOT / "tests/golden/openapi.json").read_text())
    made = [ROUTES]
    for tag in described["tags"]:
        made.append(f"\n## {tag['name']}\n\n{tag['description']}\n")
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if tag["name"] not in operation.get("tags", []):
                    continue
                made.append(f"\n### {method.upper()} {path}\n\n{operation['summary'].rstrip('.')}. {operation.get('description', '')}".rstrip() + "\n")
                names = [f"`{one['name']}`" for one in operation.get("parameters", []) if one.get("in") == "query"]
                if 0 < len(names) <= 12:
                    made.append(f"\nQuery parameters: {', '.join(names)}.\n")
                elif names:
                    made.append("\nQuery parameters: the [search parameters](search-parameters.md).\n")
    return "".join(made)


def main():
    stale = []
    for path, text in {PAGES / "options.md": options(), PAGES / "http-api.md": routes(), **bars.pictures()}.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(f"{path.relative_to(ROOT)} is out of date: run scripts/reference.py")
    print("\n".join(stale) or "reference: passed")
    return 1 if stale else 0


sys.exit(main())
