#!/usr/bin/env bash
# Makes what people install, in target/release-files: a stripped binary with its line tables in a file apart, what it is made of
# (an SBOM), a wheel and an npm package, a .deb and a .rpm (where dpkg-deb and rpmbuild are), checksums. The part for macOS was never run.
# usage: scripts/release.sh [--profile] [BINARY]     (a binary that is built already; else it is built, with all optimisations. `--profile` builds a
# server first that counts what it runs, and optimises by that: searches take a twentieth less CPU time, and all is compiled twice)
# LAMINA_DOCS_URL=https://…/ says where the documentation will be: links of errors lead there.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=()
if [[ ${1:-} == --profile ]]; then
  shift
  profile=$(scripts/profile.sh | tail -1)
  # Names of functions are the same only with `--target`, as for the profile.
  host=$(rustc -vV | sed -n 's/^host: //p')
  export RUSTFLAGS="${RUSTFLAGS:-} -Cprofile-use=$profile"
  flags=(--target "$host")
fi
binary=${1:-}
if [[ -z $binary ]]; then
  LAMINA_COMMIT_SHA=${LAMINA_COMMIT_SHA:-$(git rev-parse HEAD)}
  LAMINA_COMMIT_DATE=${LAMINA_COMMIT_DATE:-$(git show -s --format=%cI HEAD)}
  export LAMINA_COMMIT_SHA LAMINA_COMMIT_DATE
  cargo build --profile dist --locked --bin lamina ${flags[@]+"${flags[@]}"}
  binary=${CARGO_TARGET_DIR:-target}/${host:+$host/}dist/lamina
fi
version=$("$binary" --version | cut -d' ' -f2)
architecture=$(uname -m)
is_linux=true system=linux
[[ $(uname -s) != Darwin ]] || is_linux=false system=macos
name=lamina-$version-$architecture-$system
files=$PWD/target/release-files
rm -rf "$files" && mkdir -p "$files/$name"

# Line tables are for readers of backtraces: the stripped binary names the file that has them.
lamina=$files/$name/lamina
if $is_linux; then
  objcopy --only-keep-debug "$binary" "$files/$name.debug"
  strip --strip-all -o "$lamina" "$binary"
  objcopy --add-gnu-debuglink="$files/$name.debug" "$lamina"
else
  dsymutil "$binary" --flat --out "$files/$name.debug"
  strip -o "$lamina" "$binary"
  # The kernel runs no binary whose signature is that of another one.
  codesign --force --sign - "$lamina"
fi
"$lamina" --version >/dev/null

for shell in bash zsh fish; do "$lamina" completions "$shell" >"$files/$name/lamina.$shell"; done
"$lamina" manual | gzip -9n >"$files/$name/lamina.1.gz"
cp LICENSE README.md CHANGELOG.md packaging/config.toml packaging/lamina.service "$files/$name/"
owner=(--owner=0 --group=0 --numeric-owner --sort=name)
$is_linux || owner=(--uid 0 --gid 0 --uname "" --gname "")
tar -C "$files" "${owner[@]}" -cf - "$name" | gzip -9n >"$files/$name.tar.gz"
chmod 644 "$files/$name.debug"
gzip -6 "$files/$name.debug"

scripts/sbom.py >"$files/$name.cdx.json"
scripts/pack.py "$lamina" "$version" "$files"

sums() {
  rm -rf "${files:?}/$name"
  if $is_linux; then (cd "$files" && sha256sum -- * >SHA256SUMS); else (cd "$files" && shasum -a 256 -- * >SHA256SUMS); fi
  ls -l "$files"
}
$is_linux || { sums; exit 0; }

# A package needs no more than an archive of files and a few lines about them.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
install -Dm755 "$lamina" "$root/usr/bin/lamina"
install -Dm644 packaging/lamina.service "$root/usr/lib/systemd/system/lamina.service"
install -Dm644 packaging/config.toml "$root/etc/lamina.toml"
install -Dm644 "$files/$name/lamina.1.gz" "$root/usr/share/man/man1/lamina.1.gz"
install -Dm644 "$files/$name/lamina.bash" "$root/usr/share/bash-completion/completions/lamina"
install -Dm644 "$files/$name/lamina.zsh" "$root/usr/share/zsh/site-functions/_lamina"
install -Dm644 "$files/$name/lamina.fish" "$root/usr/share/fish/vendor_completions.d/lamina.fish"
install -Dm644 LICENSE "$root/usr/share/doc/lamina/copyright"
glibc=$(objdump -T "$binary" | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -1 | cut -d_ -f2)

if command -v rpmbuild >/dev/null; then
  top=$(mktemp -d)
  cat >"$top/lamina.spec" <<END
Name: lamina
Version: $version
Release: 1
Summary: Search engine with an HTTP interface
License: MIT
Requires: glibc${glibc:+ >= $glibc}
%global debug_package %{nil}
%global __strip /bin/true
%global __os_install_post %{nil}
%description
One binary and one folder: documents are JSON, queries forgive typos, answers
come in milliseconds. It speaks the Meilisearch v1 protocol.
%install
mkdir -p "%{buildroot}"
cp -a "$root/." "%{buildroot}/"
%post
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :
%preun
[ "\$1" != 0 ] || [ ! -d /run/systemd/system ] || systemctl stop lamina || :
%files
/usr/bin/lamina
/usr/lib/systemd/system/lamina.service
%config(noreplace) /etc/lamina.toml
/usr/share/man/man1/lamina.1.gz
/usr/share/bash-completion/completions/lamina
/usr/share/zsh/site-functions/_lamina
/usr/share/fish/vendor_completions.d/lamina.fish
%dir /usr/share/doc/lamina
/usr/share/doc/lamina/copyright
END
  rpmbuild --quiet --define "_topdir $top" --define "_binary_payload w2.xzdio" --target "$architecture" -bb "$top/lamina.spec"
  mv "$top"/RPMS/*/*.rpm "$files/"
  rm -rf "$top"
fi

if command -v dpkg-deb >/dev/null; then
  mkdir -p "$root/usr/share/zsh/vendor-completions"
  mv "$root/usr/share/zsh/site-functions/_lamina" "$root/usr/share/zsh/vendor-completions/_lamina"
  rmdir "$root/usr/share/zsh/site-functions"
  mkdir -p "$root/DEBIAN"
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

sums
