#!/usr/bin/env python3
"""Uses a server in the ways that its users do: loads catalogue documents, searches them in every kind of request, changes a few
while it searches, merges. What the compiler's profile of the server is made of; see scripts/profile.sh.

usage: scripts/with-server.sh -- scripts/exercise.py [--documents 100000] [--requests 300]     (LAMINA_URL: the server)

Documents are texts of labelled films mixed anew, the same ones each time: words come as often as in a language, and each document has
words of its own.
"""
import argparse
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent
FILMS = ROOT.parent / "tests/labelled/msrd.documents.ndjson.gz"
SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
SETTINGS = {
    "searchableAttributes": ["title", "brand", "author", "category", "description", "sku"],
    "filterableAttributes": ["category", "tags", "brand", "price", "rating", "in_stock", "released", "_geo"],
    "sortableAttributes": ["price", "rating", "released", "reviews", "_geo"],
}
CHUNK_DOCUMENTS = 20_000
CLIENTS = 4


def catalogue(count):
    rng = random.Random(11)
    with gzip.open(FILMS, "rt", encoding="utf8") as lines:
        films = [json.loads(line) for line in lines]
    sentences = [part for film in films for part in re.split(r"(?<=[.!?]) ", film.get("overview", "")) if 20 < len(part) < 400]
    titles = [film["title"].split() for film in films]
    people = [name for film in films for name in film.get("actors", [])]
    genres = sorted({genre for film in films for genre in film.get("genres", [])})
    brands = ["".join(rng.choices(SYLLABLES, k=3)).capitalize() for _ in range(max(50, count // 400))]
    for number in range(count):
        yield {
            "id": number,
            "sku": f"{rng.choice(SYLLABLES).upper()}-{rng.getrandbits(24):06x}",
            "title": " ".join(rng.choice(titles)[:4] + rng.choice(titles)[-2:]),
            "brand": rng.choice(brands),
            "category": rng.choice(genres),
            "tags": rng.sample(genres, rng.randrange(4)),
            "description": " ".join(rng.choices(sentences, k=rng.randrange(1, 5))),
            "author": rng.choice(people),
            "price": round(rng.lognormvariate(3, 1), 2),
            "rating": rng.randrange(51) / 10,
            "reviews": int(rng.paretovariate(1.1)),
            "in_stock": rng.random() < 0.8,
            "released": rng.randrange(1_760_000_000),
            "_geo": {"lat": round(rng.uniform(-70, 75), 5), "lng": round(rng.uniform(-180, 180), 5)},
        }


def ask(method, path, body=None, kind="application/json"):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["LAMINA_URL"] + path, data, {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def change(method, path, *body):
    """A write, which has taken effect when this ends."""
    task = ask(method, path + "?wait=searchable&waitMs=60000", *body)
    assert task["status"] == "succeeded", task


def load(lines):
    change("PATCH", "/indexes/bench/settings", SETTINGS)
    for start in range(0, len(lines), CHUNK_DOCUMENTS):
        change("POST", "/indexes/bench/documents", b"\n".join(lines[start:start + CHUNK_DOCUMENTS]), "application/x-ndjson")


def write(lines, is_over):
    """Replaces a few documents at a time and deletes one, until the searches are over."""
    rng = random.Random(3)
    while not is_over.is_set():
        change("POST", "/indexes/bench/documents", b"\n".join(rng.sample(lines, 20)), "application/x-ndjson")
        change("DELETE", f"/indexes/bench/documents/{rng.randrange(len(lines))}")
        time.sleep(0.2)


def search(requests):
    for request in requests:
        ask("POST", request["path"], request["body"])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--requests", type=int, default=300, help="of each kind")
    options = options.parse_args()
    lines = [json.dumps(document, ensure_ascii=False).encode() for document in catalogue(options.documents)]
    load(lines)
    with tempfile.NamedTemporaryFile() as corpus:
        corpus.write(b"\n".join(lines))
        corpus.flush()
        made = subprocess.run([ROOT / "make-requests.py", corpus.name, "--count", str(options.requests)], stdout=subprocess.PIPE, check=True)
    requests = [json.loads(line) for line in made.stdout.splitlines()]
    is_over = threading.Event()
    writer = threading.Thread(target=write, args=(lines, is_over))
    writer.start()
    searchers = [threading.Thread(target=search, args=(requests[number::CLIENTS],)) for number in range(CLIENTS)]
    for thread in searchers:
        thread.start()
    for thread in searchers:
        thread.join()
    is_over.set()
    writer.join()
    print(f"{len(lines)} documents, {len(requests)} searches")


if __name__ == "__main__":
    main()
