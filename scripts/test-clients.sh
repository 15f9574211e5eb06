#!/usr/bin/env bash
# Runs the official Python and JavaScript clients of the protocol against the debug build.
# usage: scripts/test-clients.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --bin lamina
work=$PWD/target/clients
mkdir -p "$work"

if ! [[ -x $work/python/bin/python ]] || ! cmp -s tests/clients/python/requirements.txt "$work/python/installed"; then
  rm -rf "$work/python"
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet --disable-pip-version-check -r tests/clients/python/requirements.txt
  cp tests/clients/python/requirements.txt "$work/python/installed"
fi
if ! cmp -s tests/clients/js/package-lock.json "$work/js/installed"; then
  rm -rf "$work/js"
  mkdir -p "$work/js"
  cp tests/clients/js/package.json tests/clients/js/package-lock.json "$work/js/"
  npm ci --prefix "$work/js" --no-audit --no-fund --silent
  cp tests/clients/js/package-lock.json "$work/js/installed"
fi
cp tests/clients/js/client.mjs "$work/js/"

data=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export LAMINA_URL=http://127.0.0.1:$port LAMINA_KEY=clients-master-key
target/debug/lamina --db-path "$data/db" --http-addr "127.0.0.1:$port" --master-key "$LAMINA_KEY" \
  --experimental-allowed-ip-networks 127.0.0.0/8 \
  >"$data/server.log" 2>&1 &
server=$!
cleanup() {
  status=$?
  kill $server 2>/dev/null && wait $server 2>/dev/null || true
  ((status == 0)) || { echo "The end of the server's log:"; tail -30 "$data/server.log"; }
  rm -rf "$data"
}
trap cleanup EXIT
for _ in $(seq 100); do
  python3 -c 'import os, urllib.request; urllib.request.urlopen(os.environ["LAMINA_URL"] + "/health", timeout=1)' 2>/dev/null && break
  kill -0 $server 2>/dev/null || { echo "the server did not start"; exit 1; }
  sleep 0.1
done

"$work/python/bin/python" tests/clients/python/client.py
node "$work/js/client.mjs"
