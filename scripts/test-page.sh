#!/usr/bin/env bash
# Tests the console in parts, then the pages at `/` and `/docs` in a headless Chromium against the debug build. Without a Chromium, and no way to install one, it
# says so and leaves it out. Pictures of the page are left in target/page.
# usage: scripts/test-page.sh [PART…]      (files of tests/page; default: those that CI runs)
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- docs

scripts/console.sh --check

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! find_chromium >/dev/null; then
  root=()
  ((EUID == 0)) || root=(sudo -n)
  echo "Installing: chromium"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 ||
    { "${root[@]}" apt-get update -qq &&
      "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; } || true
fi
if ! find_chromium >/dev/null; then
  echo "SKIPPED: there is no Chromium, and apt-get cannot install it"
  exit 0
fi

cargo build --quiet --workspace --bin lamina --test e2e
export CHROMIUM PICTURES=$PWD/target/page
CHROMIUM=$(find_chromium)
mkdir -p "$PICTURES"
# A part has a server of its own. A second one has a master key: the page asks for it, and loads pictures over HTTP.
export PROTECTED_KEY=a-key-of-the-page
run() {
  local begun=$SECONDS log
  log=$(mktemp)
  part=$1 scripts/with-server.sh --master-key "$PROTECTED_KEY" --console-http-pictures -- bash -c '
    PROTECTED_URL=$LAMINA_URL exec scripts/with-server.sh --experimental-allowed-ip-networks 127.0.0.0/8 --keep 24h -- node "tests/page/$part.mjs"' >"$log" 2>&1
  local status=$?
  cat "$log"
  rm "$log"
  echo "$1: $((SECONDS - begun)) s, status $status"
  return $status
}
export -f run
# Two at once: a part waits for its server as often as for its browser. The longest begin first.
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'run {}'
