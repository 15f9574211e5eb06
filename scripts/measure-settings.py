#!/usr/bin/env python3
"""Measure how long settings take to apply to an index of a running server, and whether searches wait meanwhile.

usage: scripts/measure-settings.py URL KEY INDEX [FILTERABLE]
The index holds documents (`lamina import` loads them); FILTERABLE is a field that is not filterable yet. For each change:
the duration of its task, the time until the client has the answer (`?wait=searchable`), and the slowest of the searches
that ran at the same time. Settings are as before afterwards.
"""
import http.client, json, re, sys, threading, time
from urllib.parse import urlparse


def connection(url):
    parts = urlparse(url)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=3600)


def call(conn, key, method, path, body=None):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    conn.request(method, path, None if body is None else json.dumps(body), headers)
    answer = conn.getresponse()
    text = answer.read()
    assert answer.status < 300, (method, path, answer.status, text)
    return json.loads(text)


def millis(duration):
    return float(re.fullmatch(r"PT([0-9.]+)S", duration)[1]) * 1e3


class Searches(threading.Thread):
    """Searches one after the other until it is stopped; remembers the slowest."""

    def __init__(self, url, key, path, queries):
        super().__init__(daemon=True)
        self.asked, self.slowest, self.count, self.go = (url, key, path, queries), 0.0, 0, True

    def run(self):
        url, key, path, queries = self.asked
        conn = connection(url)
        while self.go:
            start = time.perf_counter()
            call(conn, key, "POST", path, {"q": queries[self.count % len(queries)]})
            self.slowest, self.count = max(self.slowest, (time.perf_counter() - start) * 1e3), self.count + 1


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    url, key, index = sys.argv[1:4]
    conn, base = connection(url), f"/indexes/{index}"
    before = call(conn, key, "GET", f"{base}/settings")
    searchable = before["searchableAttributes"]
    changes = [
        ("synonyms", {"synonyms": {"film": ["movie"], "car": ["automobile"]}}),
        ("stop words", {"stopWords": ["the", "a", "of"]}),
        ("searchable order", {"searchableAttributes": searchable[::-1]}),
        ("typo settings", {"typoTolerance": {"minWordSizeForTypos": {"oneTypo": 4, "twoTypos": 8}}}),
        ("ranking rules", {"rankingRules": before["rankingRules"][::-1]}),
        ("displayed attributes", {"displayedAttributes": ["id"]}),
    ]
    if len(sys.argv) > 4:
        changes.append((f"filterable: {sys.argv[4]}", {"filterableAttributes": before["filterableAttributes"] + [sys.argv[4]]}))
    queries = ["film", "drama com", "the island of love", "directd by", ""]
    for query in queries:
        call(conn, key, "POST", f"{base}/search", {"q": query})
    quiet = Searches(url, key, f"{base}/search", queries)
    quiet.start(); time.sleep(2); quiet.go = False; quiet.join()
    print(f"{'change':<24}{'task ms':>10}{'answer ms':>11}{'searches':>10}{'slowest ms':>12}")
    print(f"{'(none, for two seconds)':<24}{'':>10}{'':>11}{quiet.count:>10}{quiet.slowest:>12.1f}")
    for name, patch in changes:
        searches = Searches(url, key, f"{base}/search", queries)
        searches.start()
        start = time.perf_counter()
        answer = call(conn, key, "PATCH", f"{base}/settings?wait=searchable&waitMs=60000", patch)
        took = (time.perf_counter() - start) * 1e3
        searches.go = False
        searches.join()
        task = call(conn, key, "GET", f"/tasks/{answer['taskUid']}")
        assert task["status"] == "succeeded", task
        print(f"{name:<24}{millis(task['duration']):>10.1f}{took:>11.1f}{searches.count:>10}{searches.slowest:>12.1f}", flush=True)
        back = {setting: before[setting] for setting in patch}
        call(conn, key, "PATCH", f"{base}/settings?wait=searchable&waitMs=60000", back)


main()
