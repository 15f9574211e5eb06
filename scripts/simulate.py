#!/usr/bin/env python3
"""Tunes an index of films on simulated clicks, and asks how much of the gain that true judgements give is reached on other queries.

Users see the first ten hits of the index as it is: `last`, default settings. They examine places as often as eye tracking found, and err in one
of five documents that they examine. `lamina judge` makes judgements of the clicks, `lamina tune` settings of the judgements.

usage: scripts/simulate.py [BINARY] [--small] [--msrd FOLDER] [--seeds N] [--sessions N] [--budget N]
       BINARY      target/debug/lamina by default; the server beside it is ${LAMINA:-the same}
       --small     the size of CI
       --msrd      a folder with msrd-corpus.jsonl.gz and msrd-judgments.tsv.gz: all films, and every 16th query
"""
import argparse
import collections
import csv
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SET = ROOT / "tests" / "labelled"
# Shares of users whose eyes rested on a place (Joachims, Granka, Pan, Hembrooke and Gay, 2005, "Accurately interpreting clickthrough data as implicit
# feedback"), as simulations use them since Ai et al., 2018, "Unbiased learning to rank with unbiased propensity estimation".
EXAMINED = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]
NOISE = 0.2
USERS = 10_000
# Of the gain with true judgements.
SHARE_MIN = 0.9
# The set judges few documents of a query, so hits without a judgement are ignored.
JUDGED = ["--judged-only", "--fetch", "100"]
FIELDS = ("id", "title", "overview", "tags", "genres", "director", "actors", "characters", "year")


def call(method, path, body):
    headers = {"Content-Type": "application/json"}
    url = os.environ["LAMINA_URL"].rstrip("/") + path
    request = urllib.request.Request(url, data=json.dumps(body).encode(), method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def labelled(folder):
    """Films, and queries with their true grades."""
    if folder is None:
        return lines_of(SET / "msrd.documents.ndjson.gz"), lines_of(SET / "msrd.questions.ndjson.gz")
    films = [{name: film.get(name) for name in FIELDS} for film in lines_of(folder / "msrd-corpus.jsonl.gz")]
    ids, queries, grades = {str(film["id"]) for film in films}, {}, collections.defaultdict(dict)
    with gzip.open(folder / "msrd-judgments.tsv.gz", "rt", encoding="utf8") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            queries[row["query_id"]] = row["query"]
            if row["doc_id"] in ids:
                grades[row["query_id"]][row["doc_id"]] = int(row["grade"])
    answerable = [query for query in sorted(queries) if any(grades[query].values())]
    return films, [{"id": query, "q": queries[query], "relevant": grades[query]} for query in answerable[::16]]


def sessions_of(queries, shown, count, chance):
    """Searches of users with their clicks; few queries are sent often, most seldom."""
    order = chance.sample(queries, len(queries))
    weights = [1 / place for place in range(1, len(order) + 1)]
    for number, query in enumerate(chance.choices(order, weights, k=count)):
        hits, clicks = shown[query["q"]], []
        for place, hit in enumerate(hits):
            attracts = query["relevant"].get(hit, 0) > 0
            if chance.random() < NOISE:
                attracts = not attracts
            if attracts and chance.random() < EXAMINED[place]:
                clicks.append({"objectId": hit, "position": place + 1})
        yield {"queryUid": str(number), "userId": str(chance.randrange(USERS)), "q": query["q"], "hits": hits, "clicks": clicks}


def lamina(binary, *arguments):
    url = [] if arguments[0] == "judge" else ["--url", os.environ["LAMINA_URL"], "--index", "films"]
    done = subprocess.run([binary, *map(str, arguments), *url, "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    return path


def way(name, report):
    return f"{name}=" + json.dumps({"settings": report["tuned"]["settings"], **report["tuned"]["parameters"]})


def run(options, queries, shown, seed, folder):
    """The nDCG of other queries: as it is, tuned on true judgements, tuned on clicks."""
    chance = random.Random(seed)
    mixed = chance.sample(queries, len(queries))
    known, others = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    true = write(folder / "true.ndjson", known)
    sessions = write(folder / "sessions.ndjson", sessions_of(known, shown, options.sessions, chance))
    clicked = folder / "clicked.ndjson"
    judged = lamina(options.binary, "judge", sessions, "--output", clicked)
    tuned = {
        name: lamina(options.binary, "tune", "--judgements", file, "--budget", options.budget, "--seed", seed, *extra)
        for name, file, extra in (("true", true, JUDGED), ("clicked", clicked, []))
    }
    ways = [argument for name, report in tuned.items() for argument in ("--with", way(name, report))]
    found = lamina(options.binary, "evaluate", write(folder / "others.ndjson", others), "--with", "now={}", *ways, *JUDGED)
    for name, report in tuned.items():
        print(f"  {name}: {json.dumps(report['tuned'])}, winner {report['verdict']['winner']}", file=sys.stderr)
    print(f"  judged: {judged['queries']} queries, {judged['judgements']} documents, {judged['model']}", file=sys.stderr)
    return [one["ndcg"]["mean"] for one in found["searches"]]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary", nargs="?", default=str(ROOT / "target/debug/lamina"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--msrd", type=pathlib.Path)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--budget", type=int)
    options = parser.parse_args()
    options.seeds = options.seeds or (1 if options.small else 10)
    options.budget = options.budget or (1_000 if options.small else 20_000)
    if "LAMINA_URL" not in os.environ:
        os.environ.setdefault("LAMINA", options.binary)
        script = str(ROOT / "scripts/with-server.sh")
        os.execv(script, [script, "--", sys.executable, os.path.abspath(__file__), *map(absolute, sys.argv[1:])])
    films, queries = labelled(options.msrd)
    call("PATCH", "/indexes/films/settings?wait=searchable", {"searchCutoffMs": 60000})
    loaded = call("POST", "/indexes/films/documents?primaryKey=id&wait=searchable&waitMs=60000", films)
    if loaded["status"] != "succeeded":
        sys.exit(str(loaded))
    search = {"limit": len(EXAMINED), "attributesToRetrieve": ["id"]}
    shown = {
        query["q"]: [str(hit["id"]) for hit in call("POST", "/indexes/films/search", {"q": query["q"], **search})["hits"]]
        for query in queries
    }
    queries = [query for query in queries if shown[query["q"]]]
    print(f"{len(films)} films, {len(queries)} queries, {options.sessions} sessions", flush=True)
    gained = collections.Counter()
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            now, true, clicked = run(options, queries, shown, seed, pathlib.Path(folder))
        gained.update({"true": true - now, "clicked": clicked - now})
        print(f"seed {seed}: nDCG@10 {now:.4f}, tuned on true judgements {true:.4f}, on clicks {clicked:.4f}", flush=True)
    share = gained["clicked"] / gained["true"] if gained["true"] > 0 else 0
    print(f"clicks reach {share:.1%} of the gain of true judgements, which is {gained['true'] / options.seeds:.4f}")
    if share < SHARE_MIN:
        sys.exit(f"less than {SHARE_MIN:.0%}")


def absolute(argument):
    """with-server.sh works in another folder."""
    return os.path.abspath(argument) if os.path.exists(argument) else argument


main()
