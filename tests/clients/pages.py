"""Runs the examples of the manual, page after page, each page with a server of its own that has the films of the sample.

Blocks of `sh`, `python` and `javascript` are run as they stand, but for the address; the word `not-run` after the language
leaves a block out. A block of `json result` has to be a part of the last JSON that a block before it printed: its fields, and the
first elements of its lists.

usage: pages.py BINARY NODE_FOLDER MODEL PAGE…     (NODE_FOLDER has the packages of the JavaScript examples)

MODEL is a folder with a static model. It stands in for the one that pages name and that a server would download.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ADDRESS = "http://127.0.0.1:7700"
MODEL_NAME = "minishlab/potion-base-8M"
# A refusal is a failure of the example, and how far a transfer is does not matter.
SHELL = 'curl() { command curl --fail-with-body --silent --show-error --max-time "${PATIENCE:-30}" "$@"; }\n'
LANGUAGES = {
    "sh": ["bash", "-euo", "pipefail", "-c"],
    "python": [sys.executable, "-c"],
    "javascript": ["node", "--input-type=module", "-e"],
}
SETTINGS = '{"filterableAttributes": ["genres", "cast", "year"], "sortableAttributes": ["year"]}'
BLOCK = re.compile(r"^( *)```(\w+)([ \w-]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Server:
    """A server on a port that it chooses itself."""

    def __init__(self, binary, folder):
        self.log = folder / "server.log"
        command = [binary, "serve", "--db-path", folder / "db", "--dump-dir", folder / "dumps", "--snapshot-dir", folder / "snapshots",
                   "--http-addr", "127.0.0.1:0", "--experimental-allowed-ip-networks", "127.0.0.0/8"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while not (found := re.search(r"^Listening on +(\S+)", self.log.read_text(), re.MULTILINE)):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"the server did not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        self.url = found[1]

    def settle(self):
        """Waits for the tasks of an example: who reads is slower than the debug build of a server."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with urllib.request.urlopen(f"{self.url}/tasks?statuses=enqueued,processing&limit=1") as answer:
                if json.load(answer)["total"] == 0:
                    return
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def last_json(printed):
    """Returns the last JSON value of a text: answers follow each other without a newline."""
    decoder, at, value = json.JSONDecoder(), 0, None
    while (at := next((i for i in range(at, len(printed)) if printed[i] in "{["), None)) is not None:
        try:
            value, at = decoder.raw_decode(printed, at)
        except json.JSONDecodeError:
            at += 1
    return value


def contains(actual, expected):
    match expected:
        case dict():
            return isinstance(actual, dict) and all(key in actual and contains(actual[key], value) for key, value in expected.items())
        case list():
            return isinstance(actual, list) and (bool(expected) or not actual) and len(actual) >= len(expected) and all(map(contains, actual, expected))
        case _:
            return actual == expected


def run(page, binary, node, model, sample):
    text = page.read_text()
    blocks = [block for block in BLOCK.finditer(text) if block[2] in (*LANGUAGES, "json") and "not-run" not in block[3].split()]
    if not any(block[2] in LANGUAGES for block in blocks):
        return 0
    count, printed = 0, None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(sample / "db", folder / "db")
        if MODEL_NAME in text:
            shutil.copytree(model, folder / "db/models" / MODEL_NAME)
        server = Server(binary, folder)
        (folder / "work").mkdir()
        environment = os.environ | {"SVC_URL": server.url, "PATH": f"{pathlib.Path(binary).parent}:{os.environ['PATH']}"}
        environment.pop("SVC_API_KEY", None)
        try:
            for block in blocks:
                indent, language, words, code = block.groups()
                code = "\n".join(line.removeprefix(indent) for line in code.split("\n"))
                where = f"{page.relative_to(ROOT)}:{text[: block.start()].count(chr(10)) + 1}"
                if language == "json":
                    if "result" in words.split() and not contains(printed, json.loads(code)):
                        sys.exit(f"{where}: the result is another one:\n{printed}")
                    continue
                code = code.replace(ADDRESS, server.url)
                # A stream goes on: two seconds of it are enough.
                is_stream = "curl -N" in code
                cwd = node if language == "javascript" else folder / "work"
                code = (SHELL if language == "sh" else "") + code
                try:
                    ran = subprocess.run([*LANGUAGES[language], code], cwd=cwd, capture_output=True, text=True, env=environment, timeout=3 if is_stream else 120)
                except subprocess.TimeoutExpired:
                    if not is_stream:
                        sys.exit(f"{where}: the example takes longer than two minutes")
                    continue
                server.settle()
                if ran.returncode != 0:
                    sys.exit(f"{where}: the example fails\n{ran.stdout}{ran.stderr}")
                if (value := last_json(ran.stdout)) is not None:
                    printed = value
                count += 1
        finally:
            server.stop()
    return count


def main():
    binary, node, model, *pages = sys.argv[1:]
    binary = str(pathlib.Path(binary).resolve())
    total = 0
    with tempfile.TemporaryDirectory() as sample:
        sample = pathlib.Path(sample)
        server = Server(binary, sample)
        for command in (["settings", "set", "--index", "films", SETTINGS],
                        ["import", "--quiet", "--index", "films", "--primary-key", "id", ROOT / "scripts/sample/films.ndjson.zst"]):
            subprocess.run([binary, *command, "--url", server.url], check=True, capture_output=True)
        server.stop()
        for page in pages:
            total += run(pathlib.Path(page).resolve(), binary, node, model, sample)
    assert total > 5, total
    print(f"manual: {total} examples of {len(pages)} pages passed")


main()
