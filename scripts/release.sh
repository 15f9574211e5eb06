#!/usr/bin/env bash
# Makes what people install, in target/release-files: a stripped binary with its line tables in a file apart, a .deb, checksums.
# usage: scripts/release.sh [BINARY]     (a binary that is built already; else it is built, with all optimisations)
# LAMINA_DOCS_URL=https://…/ says where the documentation will be: links of errors lead there.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:-}
if [[ -z $binary ]]; then
  LAMINA_COMMIT_SHA=${LAMINA_COMMIT_SHA:-$(git rev-parse HEAD)}
  LAMINA_COMMIT_DATE=${LAMINA_COMMIT_DATE:-$(git show -s --format=%cI HEAD)}
  export LAMINA_COMMIT_SHA LAMINA_COMMIT_DATE
  cargo build --release --locked --bin lamina
  binary=target/release/lamina
fi
version=$("$binary" --version | cut -d' ' -f2)
architecture=$(uname -m)
name=lamina-$version-$architecture-linux
files=$PWD/target/release-files
rm -rf "$files" && mkdir -p "$files/$name"

# Line tables are for readers of backtraces: the stripped binary names the file that has them.
objcopy --only-keep-debug "$binary" "$files/$name.debug"
strip --strip-all -o "$files/$name/lamina" "$binary"
objcopy --add-gnu-debuglink="$files/$name.debug" "$files/$name/lamina"
lamina=$files/$name/lamina
"$lamina" --version >/dev/null

for shell in bash zsh fish; do "$lamina" completions "$shell" >"$files/$name/lamina.$shell"; done
"$lamina" manual | gzip -9n >"$files/$name/lamina.1.gz"
cp LICENSE README.md CHANGELOG.md packaging/config.toml packaging/lamina.service "$files/$name/"
tar -C "$files" --sort=name --owner=0 --group=0 --numeric-owner -czf "$files/$name.tar.gz" "$name"
chmod 644 "$files/$name.debug"
gzip -6 "$files/$name.debug"

# A package needs no more than an archive of files and a few lines about them.
if command -v dpkg-deb >/dev/null; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  chmod 755 "$root"
  install -Dm755 "$lamina" "$root/usr/bin/lamina"
  install -Dm644 packaging/lamina.service "$root/usr/lib/systemd/system/lamina.service"
  install -Dm644 packaging/config.toml "$root/etc/lamina.toml"
  install -Dm644 "$files/$name/lamina.1.gz" "$root/usr/share/man/man1/lamina.1.gz"
  install -Dm644 "$files/$name/lamina.bash" "$root/usr/share/bash-completion/completions/lamina"
  install -Dm644 "$files/$name/lamina.zsh" "$root/usr/share/zsh/vendor-completions/_lamina"
  install -Dm644 "$files/$name/lamina.fish" "$root/usr/share/fish/vendor_completions.d/lamina.fish"
  install -Dm644 LICENSE "$root/usr/share/doc/lamina/copyright"
  mkdir -p "$root/DEBIAN"
  glibc=$(objdump -T "$binary" | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -1 | cut -d_ -f2)
  cat >"$root/DEBIAN/control" <<END
Package: lamina
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The Lamina authors <lamina@lamina.example>
Section: database
Priority: optional
Depends: libc6${glibc:+ (>= $glibc)}, libgcc-s1
Recommends: ca-certificates
Installed-Size: $(du -sk "$root" | cut -f1)
Description: search engine with an HTTP interface
 One binary and one folder: documents are JSON, queries forgive typos, answers
 come in milliseconds. It speaks the Meilisearch v1 protocol.
END
  echo /etc/lamina.toml >"$root/DEBIAN/conffiles"
  # The unit starts when its owner has looked at /etc/lamina.toml: systemctl enable --now lamina
  printf '#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || systemctl daemon-reload || true\n' >"$root/DEBIAN/postinst"
  printf '#!/bin/sh\nset -e\n[ "$1" != remove ] || [ ! -d /run/systemd/system ] || systemctl stop lamina || true\n' >"$root/DEBIAN/prerm"
  chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
  dpkg-deb --root-owner-group -Zxz -z2 --build "$root" "$files/lamina_${version}_$(dpkg --print-architecture).deb" >/dev/null
fi

rm -rf "${files:?}/$name"
(cd "$files" && sha256sum -- * >SHA256SUMS)
ls -l "$files"
