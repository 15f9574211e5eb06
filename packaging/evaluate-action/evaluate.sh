#!/usr/bin/env bash
# Loads documents into a server of its own and measures judged queries; the exit status is that of `lamina evaluate`. Its variables
# are the inputs of action.yml: LAMINA, INDEX, DOCUMENTS, SETTINGS, JUDGEMENTS, ARGUMENTS.
set -euo pipefail

folder=$(mktemp -d)
"$LAMINA" --db-path "$folder/db" --http-addr 127.0.0.1:0 >"$folder/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null && wait $server 2>/dev/null || true; rm -rf "$folder"' EXIT
SVC_URL=
while [[ -z $SVC_URL ]]; do
  kill -0 $server 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
  SVC_URL=$(sed -n 's/^Listening on  *//p' "$folder/log")
done
export SVC_URL

if [[ -n ${SETTINGS:-} ]]; then
  "$LAMINA" settings set --index "$INDEX" "@$SETTINGS"
fi
read -ra files <<<"$DOCUMENTS"
"$LAMINA" import --quiet --index "$INDEX" "${files[@]}"
# Quotes of the arguments are those of a shell.
eval "arguments=(${ARGUMENTS:-})"
status=0
"$LAMINA" evaluate --index "$INDEX" "$JUDGEMENTS" "${arguments[@]}" >"$folder/report" || status=$?
cat "$folder/report"
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
  { echo '```text' && cat "$folder/report" && echo '```'; } >>"$GITHUB_STEP_SUMMARY"
fi
exit $status
