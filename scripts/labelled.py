#!/usr/bin/env python3
"""Measures the labelled sets beside a server; scripts/labelled.sh starts it.

usage: LAMINA_URL=… scripts/labelled.py BINARY [--write]
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

SETS = pathlib.Path(__file__).parent.parent / "tests" / "labelled"
BARS = SETS / "bars.json"
# What a change may cost: less moves with every change of the order of equal hits.
TOLERANCE = 0.005
# Options of `lamina evaluate` and settings, by set.
OPTIONS = {"cacm": [], "cisi": [], "msrd": ["--judged-only", "--fetch", "100"]}
SETTINGS = {
    "cacm": {},
    "cisi": {},
    "msrd": {
        "searchableAttributes": ["title", "overview", "tags", "genres", "director", "actors", "characters", "year"]
    },
}
WAYS = {"last": {"matchingStrategy": "last"}, "any": {"matchingStrategy": "any"}}


def call(method, path, body, headers):
    url = os.environ["LAMINA_URL"].rstrip("/") + path
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


def load(name):
    """The documents as they are stored; the questions as they are needed."""
    settings = {"searchCutoffMs": 60000, **SETTINGS[name]}
    headers = {"Content-Type": "application/json"}
    task = call("PATCH", f"/indexes/{name}/settings?wait=searchable&waitMs=60000", json.dumps(settings).encode(), headers)
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    documents = (SETS / f"{name}.documents.ndjson.gz").read_bytes()
    task = call("POST", f"/indexes/{name}/documents?primaryKey=id&wait=searchable&waitMs=60000", documents, headers)
    if task["status"] != "succeeded":
        sys.exit(f"{name}: {task}")


def measure(binary, name, folder):
    questions = folder / f"{name}.ndjson"
    questions.write_bytes(gzip.decompress((SETS / f"{name}.questions.ndjson.gz").read_bytes()))
    command = [binary, "evaluate", str(questions), "--url", os.environ["LAMINA_URL"], "--index", name, "--json"]
    for way, parameters in WAYS.items():
        command += ["--with", f"{way}={json.dumps(parameters)}"]
    report = json.loads(subprocess.run(command + OPTIONS[name], check=True, stdout=subprocess.PIPE).stdout)
    return {way["name"]: round(way["ndcg"]["mean"], 4) for way in report["searches"]}


def main(binary, writes):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in SETTINGS:
            load(name)
            found[name] = measure(binary, name, pathlib.Path(folder))
    if writes:
        BARS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
    bars = json.loads(BARS.read_text(encoding="utf8"))
    worse = []
    for name, ways in bars.items():
        for way, bar in ways.items():
            now = found[name][way]
            print(f"{name:5} {way:5} nDCG@10 {now:.4f}, bar {bar:.4f}")
            if now < bar - TOLERANCE:
                worse.append(f"{name} with `{way}`: {now:.4f}, and {bar:.4f} is what it was")
    if worse:
        sys.exit("worse than before:\n  " + "\n  ".join(worse))


if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--write"]):
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:] == ["--write"])
