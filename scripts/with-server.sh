#!/usr/bin/env bash
# Runs a command beside a fresh server: LAMINA_URL says where it is, LAMINA_DATA where it keeps things.
# usage: [LAMINA=path of the binary] scripts/with-server.sh [options of the server] -- command…     (default: the debug build)
set -euo pipefail
cd "$(dirname "$0")/.."

options=()
while [[ $1 != -- ]]; do options+=("$1") && shift; done
shift

LAMINA_DATA=$(mktemp -d)
export LAMINA_DATA
"${LAMINA:-target/debug/lamina}" --db-path "$LAMINA_DATA/db" --dump-dir "$LAMINA_DATA/dumps" --snapshot-dir "$LAMINA_DATA/snapshots" \
  --http-addr 127.0.0.1:0 "${options[@]}" >"$LAMINA_DATA/server.log" 2>&1 &
server=$!
cleanup() {
  status=$?
  kill $server 2>/dev/null && wait $server 2>/dev/null || true
  ((status == 0)) || { echo "The end of the server's log:"; tail -30 "$LAMINA_DATA/server.log"; }
  rm -rf "$LAMINA_DATA"
}
trap cleanup EXIT
# It chooses its port itself, so that no other process can have it, and says which one when it is ready.
LAMINA_URL=
while [[ -z $LAMINA_URL ]]; do
  kill -0 $server 2>/dev/null || { echo "the server did not start"; exit 1; }
  sleep 0.1
  LAMINA_URL=$(sed -n 's/^Listening on  *//p' "$LAMINA_DATA/server.log")
done
export LAMINA_URL
"$@"
