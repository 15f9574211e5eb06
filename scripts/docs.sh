#!/usr/bin/env bash
# Makes the documentation a site with search in target/docs: pages as they lie in docs/, and those of the root beside them. Fails if
# a link leads nowhere.
# usage: scripts/docs.sh     (builds mdbook from source where neither the system nor `scripts/setup.sh docs` has one: minutes)
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH=$PATH:$PWD/target/mdbook/bin
command -v mdbook >/dev/null || cargo install --locked mdbook
site=target/docs source=target/docs-source
rm -rf "$site" "$source"
mkdir -p "$source/src"
cp docs/book.toml "$source/"
cp -r docs/. "$source/src/"
rm "$source/src/book.toml"
mv "$source/src/site.css" "$source/"
# Pages of the root move into the folder of the book, so links between both lose a step.
for page in README ARCHITECTURE CONTRIBUTING CHANGELOG SECURITY segment-format database-format; do
  sed 's#](docs/#](#g' "$page.md" >"$source/src/$page.md"
done
sed -i 's#](\.\./\([A-Za-z-]*\.md\)#](\1#g' "$source"/src/*.md
sed -i 's#](\.\./\.\./\([A-Za-z-]*\.md\)#](../\1#g' "$source"/src/decisions/*.md
# Files of the repository that are no pages are named, not linked.
sed -i 's#\[\([^]]*\)\](\(\.\./\)*\(packaging\|scripts\|benches\|tests\|engine\|server\)/[^)]*)#\1#g' "$source"/src/*.md "$source"/src/decisions/*.md
# What the book calls otherwise: its list of pages, and the page of a folder.
sed -i 's#](SUMMARY\.md)#](toc.md)#g; s#](decisions/README\.md#](decisions/index.md#g' "$source"/src/[!S]*.md
# Decisions are pages of the book for its builder; the navigation leaves them out below.
decisions=$source/decisions.txt
for page in "$source"/src/decisions/[0-9]*.md; do
  printf '  - [%s](decisions/%s)\n' "$(sed -n 's/^# *//p;T;q' "$page")" "$(basename "$page")"
done >"$decisions"
sed -i "/(decisions\/README.md)/r $decisions" "$source/src/SUMMARY.md"
mdbook build --dest-dir "$PWD/$site" "$source"
# Navigation shows the list of decisions, which links them.
entry='<li class="chapter-item "><span class="chapter-link-wrapper"><a href="decisions\/[0-9][^<]*<\/a><\/span><\/li>'
toggle='<a class="chapter-fold-toggle"><div>❱<\/div><\/a>'
sed -i "s/$entry//g; s/\($toggle\)\?<\/span><ol class=\"section\"><\/ol>/<\/span>/g" "$site"/toc.html "$site"/toc-*.js
if grep -q 'decisions/[0-9]' "$site"/toc.html "$site"/toc-*.js; then
  echo "the navigation still has decisions: this mdbook writes other HTML" >&2
  exit 1
fi
cp docs/llms.txt "$site/"
scripts/check-links.py "$site"
echo "target/docs/index.html"
