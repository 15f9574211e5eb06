#!/usr/bin/env bash
# Puts the files of scripts/release.sh from several machines into one folder with one SHA256SUMS, and attaches them to a draft of a release.
# usage: scripts/publish.sh FOLDER TAG     (FOLDER has a folder for each machine; without the command `gh`, the draft is left out)
set -euo pipefail
cd "$(dirname "$0")/.."

from=${1:?the folder with the files} tag=${2:?the tag of the release}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
[[ $tag == "v$version" ]] || { echo "the tag is $tag, and Cargo.toml says $version" >&2; exit 1; }
files=$PWD/target/publish
rm -rf "$files" && mkdir -p "$files"
while IFS= read -r -d '' sums; do
  (cd "$(dirname "$sums")" && sha256sum --check --quiet SHA256SUMS)
  while read -r _ name; do
    name=${name#\*}
    [[ ! -e $files/$name ]] || { echo "two machines made $name" >&2; exit 1; }
    cp "$(dirname "$sums")/$name" "$files/"
  done <"$sums"
done < <(find "$from" -name SHA256SUMS -print0)
cp packaging/install.sh "$files/"
(cd "$files" && sha256sum -- * >SHA256SUMS)
ls -l "$files"
if command -v gh >/dev/null; then
  sed -n '/^## Unreleased/,/^## [0-9]/p' CHANGELOG.md | sed '/^## /d' >"$files.notes"
  gh release create "$tag" --draft --verify-tag --title "Lamina $version" --notes-file "$files.notes" "$files"/*
else
  echo "There is no gh: attach the files of $files yourself." >&2
fi
