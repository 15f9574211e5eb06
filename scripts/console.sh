#!/usr/bin/env bash
# Builds the console: checks its types, runs its unit tests, and writes server/console/dist, which the server has inside. With `--check` it writes nothing, and
# fails if what is checked in is not what the sources make.
# usage: scripts/console.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/../server/console"

if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
npx tsc --noEmit
npx vitest run --reporter=dot
if [[ ${1-} == --check ]]; then
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  npx vite build --logLevel warn --outDir "$made" --emptyOutDir
  diff -rq "$made" dist || { echo "server/console/dist is not what the sources make: run scripts/console.sh" >&2; exit 1; }
else
  npx vite build --logLevel warn
fi
bytes=$(gzip -9c dist/index.html | wc -c)
echo "The console: $bytes bytes with gzip"
((bytes <= 120 * 1024)) || { echo "more than 120 KiB" >&2; exit 1; }
