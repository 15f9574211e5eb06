#!/usr/bin/env bash
# Installs Lamina in each way from the files of scripts/release.sh, and searches with what was installed. Packages of the system are unpacked, not installed.
# usage: scripts/test-install.sh     (after scripts/release.sh)
set -euo pipefail
cd "$(dirname "$0")/.."

files=$PWD/target/release-files
[[ -f $files/SHA256SUMS ]] || { echo "run scripts/release.sh first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# try WAY COMMAND…: starts the server with the command, loads two documents, and finds one despite a typo.
try() {
  local way=$1 server url
  shift
  local began=$SECONDS
  mkdir -p "$work/$way"
  printf '{"id": 1, "title": "Alien"}\n{"id": 2, "title": "Heat"}\n' >"$work/$way/films.ndjson"
  : >"$work/$way/log"
  "$@" serve --db-path "$work/$way/db" --http-addr 127.0.0.1:0 >"$work/$way/log" 2>&1 &
  server=$!
  for _ in {1..300}; do
    url=$(sed -n 's/^Listening on  *//p' "$work/$way/log")
    [[ -z $url ]] || break
    sleep 0.1
  done
  [[ -n $url ]] || { echo "$way: the server did not start" >&2; cat "$work/$way/log" >&2; exit 1; }
  "$@" import --quiet --url "$url" --index films "$work/$way/films.ndjson"
  "$@" search --url "$url" --index films --json alein | grep -q '"Alien"' || { echo "$way: nothing is found" >&2; exit 1; }
  # A wrapper such as npx passes no signal on: its children end with it.
  pkill -P $server 2>/dev/null || true
  kill $server 2>/dev/null || true
  wait $server 2>/dev/null || true
  echo "$way: passed in $((SECONDS - began)) s"
}

mkdir "$work/unpacked" && tar -xzf "$files"/lamina-*.tar.gz -C "$work/unpacked"
try archive "$work"/unpacked/*/lamina

packaging/install.sh "$files" "$work/bin" >/dev/null
try install.sh "$work/bin/lamina"
cp -r "$files" "$work/broken" && printf x >>"$(ls "$work"/broken/lamina-*.tar.gz)"
if packaging/install.sh "$work/broken" "$work/other" 2>"$work/said"; then echo "install.sh takes a file with another checksum" >&2; exit 1; fi
grep -q checksum "$work/said"
[[ ! -e $work/other/lamina ]]

if command -v dpkg-deb >/dev/null && compgen -G "$files/*.deb" >/dev/null; then
  dpkg-deb -x "$files"/*.deb "$work/deb"
  try deb "$work/deb/usr/bin/lamina"
else echo "SKIPPED: there is no .deb"; fi
if command -v rpm2cpio cpio >/dev/null && compgen -G "$files/*.rpm" >/dev/null; then
  mkdir "$work/rpm" && rpm2cpio "$files"/*.rpm | (cd "$work/rpm" && cpio --quiet -idm)
  try rpm "$work/rpm/usr/bin/lamina"
else echo "SKIPPED: there is no .rpm, or no cpio to unpack it with"; fi

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$files"/*.whl
try wheel "$work/venv/bin/lamina"
if command -v uvx >/dev/null; then try uvx uvx --offline --from "$(ls "$files"/*.whl)" lamina; else echo "SKIPPED: there is no uvx"; fi

npm install --silent --no-audit --no-fund --offline --prefix "$work/npm" "$files"/lamina-search-*.tgz
try npm "$work/npm/node_modules/.bin/lamina"
(cd "$work/npm" && npx --no-install lamina --version >/dev/null)
echo "install: passed"
