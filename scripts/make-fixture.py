#!/usr/bin/env python3
"""Writes a small database with the given program, and what it answers: a fixture for tests/src/formats.rs.

usage: scripts/make-fixture.py PROGRAM FOLDER

FOLDER gets `database.tar.gz` (the database folder, cleanly stopped) and `answers.json` (searches and their answers). Everything
is made of fixed documents, so that two programs answer the same.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

FREQUENT = "the of and in to a is it on for with as".split()
NOUNS = "river mountain harbour library station garden castle bridge market museum island valley".split()
PHRASE_COUNT = 17_000


def place(number):
    noun, other = NOUNS[number % 12], NOUNS[(number * 7 + 3) % 12]
    document = {
        "id": f"p{number}",
        "title": f"The {noun} of {other} {number}",
        "text": f"A {noun} in the {other}, with a view to the {NOUNS[(number // 5) % 12]} and a café on it",
        "rating": (number * 37 % 50) / 10,
        "tags": [noun, f"level {number % 4}"],
        "visits": number * number % 1000,
        "_geo": {"lat": (number * 13 % 120) - 60, "lng": (number * 29 % 300) - 150},
    }
    if number % 3 == 0:
        west, south = number % 100 - 50, number % 60 - 30
        ring = [[west, south], [west + 2, south], [west + 2, south + 2], [west, south + 2], [west, south]]
        document["_geojson"] = {"type": "Polygon", "coordinates": [ring]}
    vector = [((number * k) % 17 - 8) / 8 for k in (1, 3, 5, 7)]
    document["_vectors"] = {"own": None if number % 5 == 1 else vector}
    return document


def phrase(number):
    # A linear congruential generator: the same everywhere. Few different texts leave a small file.
    state = (number % 900) * 2654435761 % (1 << 32)
    words = []
    for _ in range(5):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        words.append(FREQUENT[min(state >> 28, 11)])
    if number % 40 == 0:
        words.insert(3, NOUNS[number // 40 % 12])
    if number % 900 < 600:
        # Two frequent words that are seldom near each other.
        words = ["north", words[0], "south"] if number % 900 == 7 else ["north", *words, "south"]
    return {"id": number, "text": " ".join(words), "origin": {"made by": "a program", "language": "none"}, "license": "none at all"}


class Server:
    def __init__(self, program, folder):
        self.log = open(os.path.join(folder, "log"), "w+")
        command = [program, "--db-path", os.path.join(folder, "database"), "--http-addr", "127.0.0.1:0", "--no-analytics"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=self.log, stderr=self.log)
        while True:
            with open(self.log.name) as log:
                said = re.search(r"^Listening on +(\S+)\n", log.read(), re.M)
            if said:
                break
            if self.process.poll() is not None:
                sys.exit(f"{program} did not start: see its output with --db-path of an empty folder")
            time.sleep(0.05)
        self.url = said.group(1)

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def write(self, method, path, body=None):
        uid = self.request(method, path, body)["taskUid"]
        while (task := self.request("GET", f"/tasks/{uid}"))["status"] in ("enqueued", "processing"):
            time.sleep(0.02)
        if task["status"] != "succeeded":
            sys.exit(f"{method} {path}: {task['error']}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait() != 0:
            sys.exit("the server did not stop cleanly")


def fill(server):
    # Ids and names are no words of interest.
    server.write("PATCH", "/indexes/phrases/settings", {"searchableAttributes": ["text"]})
    server.write("POST", "/indexes/phrases/documents", [phrase(number) for number in range(PHRASE_COUNT)])
    settings = {
        "filterableAttributes": ["rating", "tags", "_geo", "_geojson"],
        "sortableAttributes": ["rating", "_geo"],
        "embedders": {"own": {"source": "userProvided", "dimensions": 4}},
        "synonyms": {"port": ["harbour"]},
        "stopWords": ["is"],
    }
    server.write("PATCH", "/indexes/places/settings", settings)
    server.write("POST", "/indexes/places/documents", [place(number) for number in range(400)])
    # A column that is added to a segment which is there.
    added = {"filterableAttributes": settings["filterableAttributes"] + ["visits"]}
    server.write("PATCH", "/indexes/places/settings", added)
    server.write("POST", "/indexes/places/documents", [place(number) for number in range(400, 440)])
    server.write("PUT", "/indexes/places/documents", [{"id": f"p{number}", "rating": 5} for number in (3, 5, 8)])
    # Values beside a segment.
    server.write("PATCH", "/indexes/places/documents", [{"id": "p7", "increment": {"visits": 1}, "set": {"rating": 4.5}}])
    # Tombstones.
    server.write("POST", "/indexes/places/documents/delete-batch", [f"p{number}" for number in range(10, 400, 30)])
    server.write("POST", "/indexes/phrases/documents/delete-batch", list(range(100, 160)))
    server.write("POST", "/indexes", {"uid": "empty", "primaryKey": "key"})


def searches():
    places = [
        {"q": "river"},
        {"q": "mountian view"},
        {"q": "port"},
        {"q": "mus"},
        {"q": '"café on it"', "limit": 3},
        {"q": "", "filter": "rating > 4 AND tags = castle", "sort": ["rating:desc"]},
        {"q": "the", "filter": "visits < 200", "facets": ["tags", "rating"]},
        {"q": "", "filter": "_geoRadius(0, 0, 3000000)", "sort": ["_geoPoint(0, 0):asc"]},
        {"q": "", "filter": "_geoPolygon([-5, -5], [-5, 5], [5, 5], [5, -5])"},
        {"vector": [1, 0.5, -0.25, 0], "hybrid": {"embedder": "own", "semanticRatio": 1}, "limit": 10},
        {"q": "garden", "vector": [0, 0.5, 0.25, 1], "hybrid": {"embedder": "own", "semanticRatio": 0.5}, "limit": 10},
    ]
    phrases = [
        {"q": "the of"},
        {"q": '"the of and"'},
        {"q": "in the castle"},
        {"q": "with as th"},
        {"q": "it river a", "matchingStrategy": "all"},
        {"q": "m"},
        {"q": "north south", "limit": 30},
    ]
    return [("places", query) for query in places] + [("phrases", query) for query in phrases]


def answers(server):
    for index, query in searches():
        found = server.request("POST", f"/indexes/{index}/search", query)
        answer = {"ids": [hit["id"] for hit in found["hits"]], "total": found["estimatedTotalHits"]}
        if "facetDistribution" in found:
            answer["facets"] = found["facetDistribution"]
        if not answer["ids"]:
            sys.exit(f"a search that finds nothing: {query}")
        yield {"index": index, "query": query, **answer}


def main():
    program, target = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(target, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        fill(server)
        found = list(answers(server))
        server.stop()
        lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in found)
        with open(os.path.join(target, "answers.json"), "w") as file:
            file.write(f"[\n{lines}\n]\n")
        with tarfile.open(os.path.join(target, "database.tar.gz"), "w:gz", compresslevel=9) as archive:
            archive.add(os.path.join(folder, "database"), "database")


main()
