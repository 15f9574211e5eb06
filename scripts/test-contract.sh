#!/usr/bin/env bash
# Makes requests from /openapi.json, sensible and nonsensical ones, and expects that none is answered with 5xx and that all
# answers are as described.
# usage: scripts/test-contract.sh [examples for each route]
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --workspace --bin lamina --test e2e
venv=$PWD/target/contract
if ! [[ -x $venv/bin/schemathesis ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis==4.*'
fi
cat >"$venv/prepare.py" <<'PREPARE'
import json, os, urllib.request

def ask(method, path, body):
    url = os.environ["LAMINA_URL"] + path
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["LAMINA_KEY"]}
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)).read()

features = ["metrics", "logsRoute", "editDocumentsByFunction", "containsFilter", "network", "getTaskDocumentsRoute",
            "taskQueueCompactionRoute", "compositeEmbedders", "multimodal"]
ask("PATCH", "/experimental-features", dict.fromkeys(features, True))
films = [{"id": id, "title": f"Film {id}", "year": 1950 + id, "_geo": {"lat": id, "lng": id}} for id in range(30)]
ask("PATCH", "/indexes/0/settings", {"filterableAttributes": ["id", "title", "year", "_geo"],
                                     "sortableAttributes": ["year", "_geo"]})
ask("POST", "/indexes/0/documents?wait=searchable", films)
PREPARE
# The stream of logs has no end.
export LAMINA_KEY=contract-master-key
scripts/with-server.sh --master-key "$LAMINA_KEY" -- bash -euc "'$venv/bin/python' '$venv/prepare.py'
  '$venv/bin/schemathesis' run \"\$LAMINA_URL/openapi.json\" --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --max-examples ${1:-30} \
    --header \"Authorization: Bearer \$LAMINA_KEY\" --exclude-path /logs/stream --seed 1 --continue-on-failure --request-timeout 20"
