#!/usr/bin/env bash
# Makes the documentation a site in target/docs: the manual, with a search that tolerates typos, and beside it a second book, "Engineering".
# Fails if a link leads nowhere, a page is too long, or a query of tests/page/site-queries.txt does not find its page first.
# usage: scripts/docs.sh     (builds mdbook from source where neither the system nor `scripts/setup.sh docs` has one: minutes)
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH=$PATH:$PWD/target/mdbook/bin
command -v mdbook >/dev/null || cargo install --locked mdbook
site=$PWD/target/docs source=$PWD/target/docs-source packages=$PWD/target/docs-packages

scripts/site.py lengths
scripts/reference.py --check
rm -rf "$site"
scripts/site.py prepare "$source"
mdbook build --dest-dir "$site" "$source/manual"
mdbook build --dest-dir "$site/engineering" "$source/engineering"
scripts/site.py finish "$site" "$source"

# The search is MiniSearch, in the reader's browser, over an index that is made here.
if ! cmp -s docs/site/package-lock.json "$packages/installed"; then
  rm -rf "$packages" && mkdir -p "$packages"
  cp docs/site/package.json docs/site/package-lock.json "$packages/"
  npm ci --prefix "$packages" --no-audit --no-fund --silent
  cp docs/site/package-lock.json "$packages/installed"
fi
cp "$packages/node_modules/minisearch/dist/umd/index.js" "$site/minisearch.js"
node docs/site/index.cjs "$packages" "$site/sections.json" "$site/search-index.js"
rm "$site/sections.json"
scripts/check-links.py "$site"
node tests/page/site.cjs "$site" tests/page/site-queries.txt
echo "target/docs/index.html"
