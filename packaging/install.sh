#!/bin/sh
# Installs Lamina from the files that scripts/release.sh makes: the .deb or the .rpm where root installs on such a system, else the binary of the archive.
# Nothing is installed unless its checksum is the one in SHA256SUMS.
# usage: install.sh FROM [FOLDER]     FROM: a folder, or an https:// address, with the files and SHA256SUMS; LAMINA_FROM is the default
#                                     FOLDER: for the binary of the archive, ~/.local/bin by default; with it, no package is used
set -eu

from=${1:-${LAMINA_FROM:-}}
folder=${2:-}
fail() { echo "install.sh: $*" >&2; exit 1; }
[ -n "$from" ] || fail "say where the files are: install.sh FROM. Nothing is published yet, so there is no default."
case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=macos ;;
  *) fail "there are files for Linux and macOS only; build from source with: cargo install --locked --path server/cli" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
  case $from in
    http://127.0.0.1*|http://localhost*|https://*)
      if command -v curl >/dev/null; then curl --fail --silent --show-error --location --output "$work/$1" "$from/$1"
      elif command -v wget >/dev/null; then wget -q -O "$work/$1" "$from/$1"
      else fail "install curl or wget first"; fi ;;
    http://*) fail "files are fetched over https only" ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "$from has no $1"
}

fetch SHA256SUMS
# Prints the name of the first file that matches the pattern.
named() { sed 's/^[0-9a-f]* [ *]//' "$work/SHA256SUMS" | grep -E "$1" | head -n 1; }
machine=$(uname -m)
name=
if [ -z "$folder" ] && [ "$(id -u)" = 0 ]; then
  if [ $system = macos ]; then :
  elif command -v apt-get >/dev/null; then name=$(named "_$(dpkg --print-architecture)\.deb$" || true)
  elif command -v dnf >/dev/null; then name=$(named "\.$machine\.rpm$" || true)
  fi
fi
[ -n "$name" ] || name=$(named "^lamina-[^/]*-$machine-$system\.tar\.gz$" || true)
[ -n "$name" ] || fail "$from has no file for $machine"

fetch "$name"
check=sha256sum
command -v sha256sum >/dev/null || check="shasum -a 256"
(cd "$work" && grep -E " [ *]?$(printf '%s' "$name" | sed 's/[.+]/\\&/g')$" SHA256SUMS | $check -c - >/dev/null 2>&1) ||
  fail "the checksum of $name is another one than in SHA256SUMS: nothing is installed"

case $name in
  *.deb)
    apt-get install -y "$work/$name"
    echo "Installed. Options: /etc/lamina.toml. Start: systemctl enable --now lamina" ;;
  *.rpm)
    dnf install -y "$work/$name"
    echo "Installed. Options: /etc/lamina.toml. Start: systemctl enable --now lamina" ;;
  *)
    folder=${folder:-$HOME/.local/bin}
    mkdir -p "$folder"
    tar -xzf "$work/$name" -C "$work"
    # Renamed into place: a server that runs keeps the binary that it started with.
    cp "$work/${name%.tar.gz}/lamina" "$folder/.lamina.new" && chmod 755 "$folder/.lamina.new" && mv "$folder/.lamina.new" "$folder/lamina"
    echo "Installed $("$folder/lamina" --version) in $folder"
    case :$PATH: in *":$folder:"*) ;; *) echo "Add it to your PATH: export PATH=\"$folder:\$PATH\"" ;; esac ;;
esac
