#!/usr/bin/env bash
# Runs one of the repository's scripts on a machine that has nothing yet: a bare Debian 12 in a folder of its own, made
# by debootstrap and entered by chroot, with a fresh clone of the last commit at /tutti. Its exit code is that script's.
# Wants root, debootstrap and git; packages come from wherever this machine's apt has them from.
#
#   bash tests/fresh_machine.sh                                in a temporary folder: bash tests/run.sh
#   bash tests/fresh_machine.sh --root DIR                     in DIR, which is kept; a second time, packages are there
#   bash tests/fresh_machine.sh [--root DIR] bash host/demo.sh any other command
set -euo pipefail

usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }
fail() { echo "fresh_machine.sh: $1" >&2 && exit 2; }

root=
case "${1:-}" in
  -h | --help) usage && exit 0 ;;
  --root) (($# > 1)) || fail "--root wants a folder; see --help"; root=$(realpath --canonicalize-missing "$2") && shift 2 ;;
  -*) fail "unknown argument \"$1\"; see --help" ;;
esac
(($#)) || set -- bash tests/run.sh

((EUID == 0)) || fail "needs root, for debootstrap and chroot"
for tool in debootstrap git unshare; do command -v "$tool" >/dev/null || fail "needs $tool; install it first"; done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -z $root ]]; then
  root=$(mktemp --directory)
  chmod 755 "$root"
  trap 'rm -rf --one-file-system "$root"' EXIT
fi

if [[ ! -e $root/etc/machine-ready ]]; then
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Codename: bookworm" "Origin: Debian" | head -n 1)
  [[ $mirror ]] || fail "this machine's apt knows no mirror of Debian 12"
  echo "Making a bare Debian 12 in $root"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log" >&2 && exit 1; }
  rm "$root.log"
  touch "$root/etc/machine-ready"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
apt-config dump | grep -E '^Acquire::https?::Proxy' >"$root/etc/apt/apt.conf.d/proxy" || true

rm -rf --one-file-system "$root/tutti"
git clone --quiet --depth 1 "file://$PWD" "$root/tutti"
echo "Running $* on $(git log -1 --format=%h)"

# Mounts and processes live in namespaces of their own and end with the command.
unshare --mount --pid --fork env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  CI="${CI:-}" ROOT="$root" bash -c '
    set -e
    mount -t proc proc "$ROOT/proc"
    mount -t tmpfs tmpfs "$ROOT/dev/shm"
    mount -t devpts devpts "$ROOT/dev/pts" -o newinstance,ptmxmode=666
    exec chroot "$ROOT" bash -c "cd /tutti && exec \"\$@\"" bash "$@"
  ' bash "$@"
