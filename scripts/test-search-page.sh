#!/usr/bin/env bash
# Builds the project of docs/start/search-page.md with npm, and types into it in a headless Chromium beside a server with the films. The page has the files of the project
# word for word: that is checked first.
# usage: [LAMINA=path of the binary] scripts/test-search-page.sh
set -euo pipefail
cd "$(dirname "$0")/.."

project=$PWD/docs/start/search-page work=$PWD/target/search-page
python3 - "$project" <<'END'
import pathlib, re, sys
text = pathlib.Path("docs/start/search-page.md").read_text()
for language, name in (("html", "index.html"), ("javascript not-run", "main.js"), ("css", "style.css")):
    shown = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]
    if shown != (pathlib.Path(sys.argv[1]) / name).read_text():
        sys.exit(f"docs/start/search-page.md shows another {name} than docs/start/search-page has")
END
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $CHROMIUM ]]; then
  echo "SKIPPED: there is no Chromium"
  exit 0
fi
if ! cmp -s "$project/package-lock.json" "$work/installed"; then
  rm -rf "$work" && mkdir -p "$work"
  cp "$project"/package*.json "$work/"
  npm ci --prefix "$work" --no-audit --no-fund --silent
  cp "$project/package-lock.json" "$work/installed"
fi
cp "$project"/*.html "$project"/*.js "$project"/*.css "$work/"
LAMINA=${LAMINA:-$PWD/${CARGO_TARGET_DIR:-target}/debug/lamina}
export LAMINA CHROMIUM work PICTURES=$PWD/target/page
mkdir -p "$PICTURES"
scripts/with-server.sh -- bash -euc '
  "$LAMINA" settings set --url "$LAMINA_URL" --index films "{\"filterableAttributes\": [\"genres\", \"cast\", \"year\"]}"
  "$LAMINA" import --quiet --url "$LAMINA_URL" --index films --primary-key id scripts/sample/films.ndjson.zst
  (cd "$work" && VITE_LAMINA=$LAMINA_URL npx vite build --base ./ --logLevel warn)
  exec 3< <(exec python3 -u -m http.server --bind 127.0.0.1 --directory "$work/dist" 0)
  server=$!
  trap "kill $server" EXIT
  read -r line <&3
  [[ $line =~ port\ ([0-9]+) ]]
  PAGE=http://127.0.0.1:${BASH_REMATCH[1]}/ node tests/page/search-page.mjs'
