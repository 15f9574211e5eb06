#!/usr/bin/env bash
# Pictures of every view of the console, and of the pages under `/docs`, in light and dark, at 390, 1280 and 2560 pixels, to be
# looked at: VIEW-SCHEME-WIDTH.png. The films of the sample, an embedder, a rule, an alias, a webhook and a replica are there to be seen.
# usage: [LAMINA=path of the binary] scripts/pictures.sh [FOLDER]      (default: target/page/views)
set -euo pipefail
cd "$(dirname "$0")/.."

CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "there is no Chromium" >&2; exit 1; }
PICTURES=$(realpath -m "${1:-target/page/views}")
LAMINA=$(realpath "${LAMINA:-target/debug/lamina}")
STORE=$(mktemp -d)
PROTECTED_KEY=a-key-of-the-page
export CHROMIUM PICTURES LAMINA STORE PROTECTED_KEY
trap 'rm -rf "$STORE"' EXIT
mkdir -p "$PICTURES"

scripts/with-server.sh --master-key "$PROTECTED_KEY" -- bash -c '
  PROTECTED_URL=$LAMINA_URL exec scripts/with-server.sh --publish "file://$STORE" --keep 24h --metrics \
    --experimental-allowed-ip-networks 127.0.0.0/8 -- bash -c '\''
    "$LAMINA" import --quiet --url "$LAMINA_URL" --index films --primary-key id scripts/sample/films.ndjson.zst
    WRITER_URL=$LAMINA_URL exec scripts/with-server.sh --follow "file://$STORE" --public-url https://replica.example -- node tests/page/pictures.mjs'\'''
