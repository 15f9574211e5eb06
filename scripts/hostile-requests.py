#!/usr/bin/env python3
"""Sends requests that ask for all the memory there is to a server inside a memory limit.

usage: scripts/hostile-requests.py [--binary target/release/lamina] [--memory 256] [--documents 200000] [--clients 20]

The documents are added without a limit. Then the server runs in a control group of its own with so many MB (as root), or else under
`ulimit -d`. Every answer must be right, or a refusal that says what to do, and the process must live. Exit status 0: so it was. The
server has a folder of its own, which is removed. tests/src/memory_limits.rs sends the same to a small server.
"""

import argparse
import concurrent.futures
import gzip
import http.client
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

WORDS = ("alder birch cedar dogwood elm fir ginkgo hazel ivy juniper kapok larch maple nutmeg oak pine quince rowan "
         "spruce teak umbrella viburnum willow yew zelkova").split()
PIECE = 20_000


class Group:
    """A control group with a memory limit, where this process may make one."""

    def __init__(self, megabytes):
        self.path = None
        with open("/proc/self/cgroup") as file:
            groups = [line.strip().split(":", 2) for line in file]
        for _, controllers, path in groups:
            if "memory" in controllers.split(","):
                root, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
            elif controllers == "":
                root, limit = "/sys/fs/cgroup", "memory.max"
            else:
                continue
            own = os.path.join(root + path, f"hostile-{os.getpid()}")
            try:
                os.mkdir(own)
            except OSError:
                continue
            try:
                with open(os.path.join(own, limit), "w") as file:
                    file.write(str(megabytes << 20))
                self.path = own
                return
            except OSError:
                os.rmdir(own)

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))

    def remove(self):
        if self.path:
            os.rmdir(self.path)


class Server:
    def __init__(self, binary, folder, megabytes=None):
        self.folder, self.megabytes = folder, megabytes
        self.group = Group(megabytes) if megabytes else None
        log = os.path.join(self.folder, "log")
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [os.path.abspath(binary), "--db-path", "db", "--http-addr", "127.0.0.1:0", "--http-payload-size-limit", "200 MB"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, preexec_fn=self.limit if megabytes else None,
            )
        while True:
            with open(log) as file:
                found = re.search(r"^Listening on +(\S+)\n", file.read(), re.MULTILINE)
            if found:
                self.url = found.group(1)
                break
            self.check()
            time.sleep(0.02)
        self.peak, self.judging = 0, threading.Lock()
        threading.Thread(target=self.watch, daemon=True).start()

    def limit(self):
        if self.group.path:
            self.group.enter()
        else:
            resource.setrlimit(resource.RLIMIT_DATA, (self.megabytes << 20, self.megabytes << 20))

    def watch(self):
        while self.process.poll() is None:
            try:
                with open(f"/proc/{self.process.pid}/status") as file:
                    heap = next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))
            except (OSError, StopIteration):
                return
            self.peak = max(self.peak, heap)
            time.sleep(0.01)

    def check(self):
        if self.process.poll() is not None:
            raise SystemExit(f"KILLED: the server ended with status {self.process.returncode}\n{self.log_tail()}")

    def log_tail(self):
        with open(os.path.join(self.folder, "log")) as file:
            return "".join(file.readlines()[-20:])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        if self.group:
            self.group.remove()

    def ask(self, method, path, body=None, headers=None, timeout=600, read=lambda answer: answer.read()):
        """Status and text. A body that is no bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, read(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except (OSError, http.client.HTTPException) as error:
            time.sleep(0.2)
            self.check()
            return 0, repr(error).encode()

    def ask_and_judge(self, method, path, body, headers, expected):
        """Status, whether the answer is right, and its first bytes. Answers wait on the disk, and one at a time is parsed: many
        clients that ask for a million documents each would need more memory for that than the machine has."""
        with tempfile.TemporaryFile(dir=self.folder) as file:
            status, text = self.ask(method, path, body, headers, read=lambda answer: shutil.copyfileobj(answer, file, 1 << 20))
            with self.judging:
                if text is None:
                    file.seek(0)
                    text = file.read()
                return status, right((status, text), expected), text[:300]

    def done(self, answered):
        status, text = answered
        if status not in (200, 202):
            raise SystemExit(f"not accepted: {status} {text[:500]}")
        uid = json.loads(text)["taskUid"]
        while True:
            task = json.loads(self.ask("GET", f"/tasks/{uid}")[1])
            if task["status"] in ("succeeded", "failed", "canceled"):
                return task
            self.check()
            time.sleep(0.1)


def document(number):
    word = lambda step: WORDS[(number * step + number // 7) % len(WORDS)]
    text = " ".join(word(step) for step in range(1, 60))
    return {"id": number, "title": f"{word(3)} {word(5)} {number}", "name": f"name {number}", "group": number % 100, "overview": text}


def load(server, count):
    """The corpus, and documents of some megabytes."""
    settings = {
        "filterableAttributes": ["group", "name", "title"], "sortableAttributes": ["group"],
        "pagination": {"maxTotalHits": 10_000_000}, "faceting": {"maxValuesPerFacet": 10_000_000},
    }
    server.done(server.ask("PATCH", "/indexes/films/settings", settings))
    server.ask("PATCH", "/experimental-features", {"containsFilter": True, "renderRoute": True})
    task = None
    for first in range(0, count, PIECE):
        lines = "\n".join(json.dumps(document(number)) for number in range(first, min(first + PIECE, count)))
        task = server.ask("POST", "/indexes/films/documents", lines.encode(), {"Content-Type": "application/x-ndjson"})
    if server.done(task)["status"] != "succeeded":
        raise SystemExit("the documents were not added")
    for number, megabytes in ((1, 3), (2, 20), (3, 95)):
        text = "word and word or " * (megabytes * 1_000_000 // 17)
        task = server.done(server.ask("POST", "/indexes/large/documents", [{"id": number, "text": text}]))
        print(f"  a document of {megabytes} MB: {task['status']}, {(task['error'] or {}).get('code')}", flush=True)
    server.done(server.ask("POST", "/indexes/large/documents", [{"id": 9, "text": "word"}]))


def requests(count):
    """Name, method, path, body, headers, and how many results a right answer has (None: whatever it has)."""
    search, multi = "/indexes/films/search", "/multi-search"
    of = lambda key: lambda answer: len(answer[key])
    facet = lambda answer: len(answer["facetDistribution"]["name"])
    zipped = {"Content-Encoding": "gzip"}
    pack = lambda text: gzip.compress(text.encode())
    tag = "x" * 1024
    yield "all documents", "GET", "/indexes/films/documents?limit=10000000", None, None, (of("results"), count)
    yield "all, sorted", "POST", "/indexes/films/documents/fetch", {"limit": count, "sort": ["group:desc"]}, None, (of("results"), count)
    yield "all, filtered", "POST", "/indexes/films/documents/fetch", {"limit": count, "filter": "group >= 0"}, None, (of("results"), count)
    yield "all hits", "POST", search, {"limit": count}, None, (of("hits"), count)
    yield "ids of all hits", "POST", search, {"limit": count, "attributesToRetrieve": ["id"]}, None, (of("hits"), count)
    yield "scores of all hits", "POST", search, {"q": "alder", "limit": count, "showRankingScoreDetails": True}, None, None
    yield "explained", "POST", search, {"q": "alder birch", "limit": 100_000, "explain": True}, None, None
    yield "tags", "POST", search, {"q": "alder birch cedar", "limit": 10_000, "attributesToHighlight": ["*"], "highlightPreTag": tag,
                                   "highlightPostTag": tag, "showMatchesPosition": True}, None, None
    yield "long tags", "POST", search, pack(json.dumps({"q": "alder", "attributesToHighlight": ["*"], "highlightPreTag": "x" * 1_000_000})), zipped, None
    yield "crops", "POST", search, {"q": "alder", "limit": 50_000, "attributesToCrop": ["*:10000"], "cropMarker": tag}, None, None
    yield "facets", "POST", search, {"limit": 0, "facets": ["*"]}, None, (facet, count)
    yield "facet search", "POST", "/indexes/films/facet-search", {"facetName": "name"}, None, None
    plain = {"indexUid": "films", "q": "alder", "limit": 1000}
    federated = {"indexUid": "films", "q": "alder"}
    yield "1,000 queries", "POST", multi, {"queries": [plain] * 1000}, None, None
    yield "1,000 federated", "POST", multi, {"federation": {"limit": 1000}, "queries": [federated] * 1000}, None, (of("hits"), 1000)
    yield "federated, far", "POST", multi, {"federation": {"limit": 100_000, "offset": 50_000}, "queries": [federated] * 20}, None, None
    yield "federated facets", "POST", multi, {"federation": {"facetsByIndex": {"films": ["name", "title"]}, "mergeFacets": {"maxValuesPerFacet": 10_000_000}},
                                              "queries": [federated] * 2}, None, None
    for number in (1, 2, 3, 9):
        yield f"large document {number}", "GET", f"/indexes/large/documents/{number}", None, None, None
    yield "large documents", "GET", "/indexes/large/documents", None, None, None
    for name, more in (
        ("found", {}), ("highlighted", {"attributesToHighlight": ["text"]}), ("cropped", {"attributesToCrop": ["text"], "attributesToRetrieve": ["id"]}),
        ("positions", {"showMatchesPosition": True, "attributesToRetrieve": ["id"]}), ("explained", {"explain": True}),
    ):
        yield f"large, {name}", "POST", "/indexes/large/search", {"q": "word", **more}, None, None
    yield "empty lists", "POST", search, pack('{"q":[' + "[]," * 10_000_000 + "[]]}"), zipped, None
    yield "a long text", "POST", search, pack('{"q":"' + "a" * 90_000_000 + '"}'), zipped, None
    yield "a long filter", "POST", search, pack('{"filter":"' + "(" * 10_000_000 + '"}'), zipped, None
    yield "empty lists, plain", "POST", search, b'{"q":[' + b"[]," * 10_000_000 + b"[]]}", None, None
    yield "settings", "PATCH", "/indexes/films/settings", pack('{"nothing":[' + "[]," * 10_000_000 + "[]]}"), zipped, None
    yield "ids to delete", "POST", "/indexes/none/documents/delete-batch", json.dumps(list(range(10_000_000, 14_000_000))).encode(), None, None
    yield "tasks", "GET", "/tasks?limit=4000000000", None, None, None
    yield from of_long_lists(count)
    yield from of_documents()


def of_long_lists(count):
    """Requests that are small, and ask for much time: long filters, lists of settings, costly queries, templates."""
    search, settings = "/indexes/films/search", "/indexes/films/settings"
    pack = lambda body: gzip.compress(json.dumps(body).encode())
    zipped = {"Content-Encoding": "gzip"}
    filters = lambda condition, number: pack({"filter": " OR ".join([condition] * number)})
    yield "conditions", "POST", search, filters("group = 1", 400_000), zipped, None
    yield "conditions of texts", "POST", search, filters("name CONTAINS 'ame 9'", 4_000), zipped, None
    costly = {"indexUid": "films", "q": "aldre brich cedra dogwod ellm firr gingko hazle ivvy junipr", "limit": 1000,
              "matchingStrategy": "any", "showRankingScoreDetails": True}
    yield "costly queries", "POST", "/multi-search", {"queries": [costly] * 1000}, None, None
    yield "buckets", "POST", search, {"facets": [{"facet": "group", "histogram": {"interval": 1e-9}}]}, None, None
    yield "dictionary", "PATCH", settings, pack({"dictionary": [f"a{n}" for n in range(500_000)]}), zipped, None
    yield "stop words", "PATCH", settings, pack({"stopWords": [f"b{n}" for n in range(1_000_000)]}), zipped, None
    yield "synonyms", "PATCH", settings, pack({"synonyms": {"alder": [f"c{n}" for n in range(300_000)]}}), zipped, None
    yield "ranking rules", "PATCH", settings, pack({"rankingRules": [f"d{n}:asc" for n in range(40_000)]}), zipped, None
    nested = "{% for a in (1..3000000000) %}" * 3 + "x" + "{% endfor %}" * 3
    for name, template in (("loops", nested), ("tags", "{% if doc.id %}" * 1500), ("names", "{{ doc" + ".a" * 1_000_000 + " }}")):
        embedder = {"source": "rest", "url": "http://127.0.0.1:9/", "documentTemplate": template, "dimensions": 2,
                    "request": "{{text}}", "response": "{{embedding}}"}
        yield f"template: {name}", "PATCH", "/indexes/none/settings", {"embedders": {"of": embedder}}, None, None
        rendered = {"template": {"kind": "inlineDocumentTemplate", "inline": template},
                    "input": {"kind": "inlineDocument", "inline": {"id": 1}}}
        yield f"rendered: {name}", "POST", "/render-template", rendered, None, None
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {
        "index": "films", "q": "alder", "limit": count}}}
    yield "tools", "POST", "/mcp", call, {"Accept": "application/json, text/event-stream"}, None
    yield "tools, listed", "POST", "/mcp", [call] * 10_000, {"Accept": "application/json, text/event-stream"}, None


def of_different_words(field, count):
    """A field of words that no other field has."""
    return '"f%d":"%s"' % (field, " ".join(f"{field * count + n:06x}" for n in range(count)))


def of_documents():
    """Payloads that are small on the wire, and large when they are read or indexed. A task follows each that is accepted."""
    pack = lambda body: gzip.compress(body.encode(), 1)
    for megabytes in (4, 10, 30, 90):
        size = megabytes * 1_000_000
        shapes = {
            "text": '[{"id":1,"t":"%s"}]' % ("word and word or " * (size // 17)),
            "word": '[{"id":1,"t":"%s"}]' % ("a" * size),
            "words": '[{"id":1,"t":"%s"}]' % " ".join(f"w{n}" for n in range(size // 9)),
            "fields": '[{"id":1,%s}]' % ",".join(of_different_words(n, 50_000) for n in range(size // 350_000)),
            "documents": "[%s]" % ",".join('{"id":%d,%s}' % (n, of_different_words(n, 50_000)) for n in range(size // 350_000)),
            "id": '[{"id":"%s"}]' % ("a" * size),
            "name": '[{"id":1,"%s":1}]' % ("k" * size),
            "names": '[{"id":1,%s}]' % ",".join(f'"{n:0120}":1' for n in range(size // 125)),
            "lists": '[{"id":1,"t":[%s[]]}]' % ("[]," * (size // 3)),
            "numbers": '[{"id":1,"t":[%s1]}]' % ("1," * (size // 2)),
            "spaces": '[{"id":1,%s"t":1}]' % (" " * size),
        }
        for shape, body in shapes.items():
            path = f"/indexes/documents-{shape}/documents"
            yield f"{megabytes} MB: {shape}", "POST", path, pack(body), {"Content-Encoding": "gzip"}, None
        csv = {"Content-Encoding": "gzip", "Content-Type": "text/csv"}
        rows = {
            "columns": "id," + ",".join(f"c{n}" for n in range(size // 8)) + "\n",
            "commas": "id,t\n" + "," * size,
            "open quote": 'id,t\n1,"' + "b" * size,
            "long header": "id," + "n" * (size // 10) + "\n" + "1,2\n" * (size // 400_000),
        }
        for shape, body in rows.items():
            yield f"{megabytes} MB: CSV, {shape}", "POST", "/indexes/documents-csv/documents?primaryKey=id", pack(body), csv, None


def right(answered, expected):
    """Whether an answer is as it should be: right, or a refusal that says what to do."""
    status, text = answered
    if status in (200, 202):
        if expected is None:
            return bool(json.loads(text))
        count, wanted = expected
        return count(json.loads(text)) == wanted
    if status not in (400, 404, 413, 503):
        return False
    refusal = json.loads(text)
    # Tools answer as JSON-RPC asks for.
    refusal = refusal.get("error", refusal)
    return len(text) < 6000 and len(refusal["message"]) > 10 and refusal["code"] not in ("internal", -32603)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/lamina")
    parser.add_argument("--memory", type=int, default=256, help="MB")
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--only", default="", help="part of the name of the requests that are sent; default: all")
    options = parser.parse_args()
    folder, began = tempfile.mkdtemp(prefix="lamina-hostile-"), time.monotonic()
    try:
        server = Server(options.binary, folder)
        load(server, options.documents)
        server.stop()
        print(f"{options.documents} documents, loaded in {time.monotonic() - began:.0f} s", flush=True)
        wrong = attack(Server(options.binary, folder, options.memory), options)
    finally:
        shutil.rmtree(folder)
    if wrong:
        raise SystemExit(f"{wrong} answers were wrong")
    print("every answer was right or a refusal with a reason, and the process lives")


def attack(server, options):
    """Sends everything by one client and by many at once. How many answers were wrong."""
    how = "a control group" if server.group.path else "ulimit -d"
    print(f"{options.memory} MB ({how})", flush=True)
    wrong = 0
    for name, method, path, body, headers, expected in requests(options.documents):
        if options.only not in name:
            continue
        for clients in (1, options.clients):
            server.peak, began = 0, time.monotonic()
            ask = lambda _: server.ask_and_judge(method, path, body, headers, expected)
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                answers = list(pool.map(ask, range(clients)))
            server.check()
            bad = [(status, text) for status, is_right, text in answers if not is_right]
            statuses = {status: sum(one == status for one, _, _ in answers) for status, _, _ in answers}
            print(f"{name:22} x {clients:2}: {statuses}, {server.peak >> 10} MB, {time.monotonic() - began:.1f} s", flush=True)
            for status, text in bad[:2]:
                print(f"  WRONG: {status} {text}", flush=True)
            if any(status == 0 for status, _ in bad):
                print(server.log_tail(), flush=True)
            wrong += len(bad)
        status, text = server.ask("POST", "/indexes/films/search", {"q": "alder birch", "limit": 3})
        if status != 200 or len(json.loads(text)["hits"]) != 3:
            print(f"  WRONG afterwards: {status} {text[:300]}", flush=True)
            wrong += 1
    server.stop()
    return wrong


if __name__ == "__main__":
    main()
