#!/usr/bin/env bash
# Checks what packages are made from: the systemd unit, completions, the manual page, the example of a configuration file, the Helm chart.
# usage: scripts/test-packaging.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --workspace --bin lamina --test e2e
lamina=$PWD/target/debug/lamina
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if command -v systemd-analyze >/dev/null; then
  # The manual page and the program are where the package puts them, which is not here.
  sed -e "s|^ExecStart=/usr/bin/lamina|ExecStart=$lamina|" -e '/^Documentation=/d' packaging/lamina.service >"$work/lamina.service"
  said=$(systemd-analyze verify "$work/lamina.service" 2>&1 | grep -F "$work/lamina.service" || true)
  [[ -z $said ]] || { echo "packaging/lamina.service: $said" >&2; exit 1; }
else
  echo "SKIPPED: there is no systemd-analyze to check the unit with"
fi

for shell in bash zsh fish; do
  "$lamina" completions "$shell" >"$work/completions.$shell"
  grep -q -e '--db-path\|db-path' "$work/completions.$shell"
done
bash -n "$work/completions.bash"
"$lamina" manual >"$work/lamina.1"
grep -q '^\.TH lamina 1' "$work/lamina.1"
# Every line of the example is a comment; with all of them taken away it is still a configuration.
sed -n 's/^# \([a-z0-9_]* = \)/\1/p' packaging/config.toml | grep -v '= ""$' >"$work/config.toml"
python3 -c 'import sys, tomllib; assert len(tomllib.load(open(sys.argv[1], "rb"))) > 20' "$work/config.toml"

# The action measures what it is given, and fails below a bar.
printf '{"id": 1, "title": "Alien"}\n{"id": 2, "title": "Up"}\n' >"$work/films.ndjson"
printf '{"q": "alien", "relevant": ["1"]}\n{"q": "up", "relevant": ["2"]}\n' >"$work/judged.ndjson"
printf '{"searchableAttributes": ["title"]}' >"$work/settings.json"
evaluate() {
  env LAMINA="$lamina" INDEX=films DOCUMENTS="$work/films.ndjson" SETTINGS="$work/settings.json" JUDGEMENTS="$work/$1.ndjson" \
    GITHUB_STEP_SUMMARY="$work/summary" ARGUMENTS="--min-ndcg 0.9" packaging/evaluate-action/evaluate.sh >/dev/null 2>&1
}
evaluate judged
grep -q nDCG "$work/summary"
printf '{"q": "alien", "relevant": ["2"]}\n' >"$work/wrong.ndjson"
if evaluate wrong; then echo "the action does not fail" >&2; exit 1; fi
scripts/test-helm.sh
echo "packaging: passed"
