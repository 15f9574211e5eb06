#!/usr/bin/env bash
# Installs the .rpm that scripts/release.sh has made into a folder, upgrades it, and removes it: files, rights, and the configuration, which stays
# its owner's. Needs rpm (apt-get install rpm) and root.
# usage: scripts/test-rpm.sh [FILE]
set -euo pipefail
cd "$(dirname "$0")/.."

command -v rpm >/dev/null || { echo "SKIPPED: there is no rpm"; exit 0; }
((EUID == 0)) || { echo "SKIPPED: packages are installed by root"; exit 0; }
file=$(realpath "${1:-$(ls target/release-files/*.rpm)}")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# Scripts speak to systemd, which the folder has not; what they would say is looked at.
in_root() { rpm --root "$root" "$@" --noscripts 2>"$root.log" || { cat "$root.log"; exit 1; }; }
rpm -qp --scripts "$file" 2>/dev/null | grep -q 'systemctl daemon-reload'

rpm --root "$root" --initdb
in_root --install --nodeps "$file"
"$root/usr/bin/lamina" --version
for name in usr/lib/systemd/system/lamina.service etc/lamina.toml usr/share/man/man1/lamina.1.gz usr/share/doc/lamina/copyright \
  usr/share/bash-completion/completions/lamina usr/share/zsh/site-functions/_lamina usr/share/fish/vendor_completions.d/lamina.fish; do
  [[ $(stat -c '%a %U' "$root/$name") == "644 root" ]] || { echo "$name has other rights"; exit 1; }
done
[[ $(stat -c %a "$root/usr/bin/lamina") == 755 ]]

echo '# changed by its owner' >>"$root/etc/lamina.toml"
in_root --upgrade --force --nodeps "$file"
tail -1 "$root/etc/lamina.toml" | grep -q 'changed by its owner'
in_root --erase lamina
left=$(find "$root" -name '*lamina*' -printf '/%P\n')
[[ $left == /etc/lamina.toml.rpmsave ]] || { echo "left behind: $left"; exit 1; }
rm -f "$root.log"
echo "rpm: passed"
