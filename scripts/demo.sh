#!/usr/bin/env bash
# Builds the server, starts it on 127.0.0.1:7700, loads 4,000 films over HTTP, shows some searches and leaves it running.
# usage: scripts/demo.sh     (PORT=7701 scripts/demo.sh if 7700 is taken)
set -euo pipefail
cd "$(dirname "$0")/.."

port=${PORT:-7700}
url=http://127.0.0.1:$port
data=$PWD/demo.lamina
log=$PWD/target/demo.log
mkdir -p target

scripts/setup.sh demo
if curl -s -o /dev/null --max-time 2 "$url/health"; then
  echo "Something already answers on $url. Stop it, or choose another port: PORT=7701 scripts/demo.sh" >&2
  exit 1
fi

echo "Building (a few minutes the first time) ..."
# What runs models inside the server and optimising to the end would take most of the time, and nothing here needs them.
cargo build --profile demo --bin lamina --no-default-features
lamina=target/demo/lamina

nohup "$lamina" serve --db-path "$data" --http-addr "127.0.0.1:$port" >"$log" 2>&1 &
server=$!
for _ in $(seq 100); do
  curl -s -o /dev/null --max-time 1 "$url/health" && break
  kill -0 $server 2>/dev/null || { echo "The server did not start:" >&2; tail -20 "$log" >&2; exit 1; }
  sleep 0.1
done
disown $server

"$lamina" settings set --url "$url" --index films \
  '{"filterableAttributes": ["genres", "cast", "year"], "sortableAttributes": ["year"]}' 2>/dev/null ||
  echo "(the settings of an earlier try stay)"
"$lamina" import --url "$url" --index films --primary-key id scripts/sample/films.ndjson.zst

search() { # what it shows, the query as JSON
  local answer
  answer=$(curl -s --fail-with-body "$url/indexes/films/search" -H 'Content-Type: application/json' \
    -d "{\"q\": $2, \"limit\": 3}")
  printf '\n%s: %s\n' "$1" "$2"
  jq -r '(.hits[] | "  \(.title) (\(.year))"), "  \(.estimatedTotalHits) found in \(.processingTimeMs) ms"' <<<"$answer"
}
search "Two typos   " '"jurasic wrold"'
search "A prefix    " '"how to train yo"'
search "A phrase    " '"\"space station\" astronaut"'
search "Cast + plot " '"harrison ford replicants"'

cat <<END

The server keeps running (process $server, data in $data, log in $log). Try next:
  1. the page:  $url/
  2. search:    $lamina search --url $url --index films godfater
  3. your data: $lamina import --url $url --index mine your-file.ndjson
  4. stop it:   kill $server        (docs/start/first-search.md has the rest)
For more than a try, build it with all optimisations: cargo build --release --bin lamina
END
