#!/usr/bin/env bash
# Runs a command beside a fresh server of the debug build: LAMINA_URL says where it is, LAMINA_DATA where it keeps things.
# usage: scripts/with-server.sh [options of the server] -- command…
set -euo pipefail
cd "$(dirname "$0")/.."

options=()
while [[ $1 != -- ]]; do options+=("$1") && shift; done
shift

LAMINA_DATA=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export LAMINA_DATA LAMINA_URL=http://127.0.0.1:$port
target/debug/lamina --db-path "$LAMINA_DATA/db" --dump-dir "$LAMINA_DATA/dumps" --snapshot-dir "$LAMINA_DATA/snapshots" \
  --http-addr "127.0.0.1:$port" "${options[@]}" >"$LAMINA_DATA/server.log" 2>&1 &
server=$!
cleanup() {
  status=$?
  kill $server 2>/dev/null && wait $server 2>/dev/null || true
  ((status == 0)) || { echo "The end of the server's log:"; tail -30 "$LAMINA_DATA/server.log"; }
  rm -rf "$LAMINA_DATA"
}
trap cleanup EXIT
for _ in $(seq 100); do
  python3 -c 'import os, urllib.request; urllib.request.urlopen(os.environ["LAMINA_URL"] + "/health", timeout=1)' 2>/dev/null && break
  kill -0 $server 2>/dev/null || { echo "the server did not start"; exit 1; }
  sleep 0.1
done
"$@"
