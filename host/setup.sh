#!/usr/bin/env bash
# Installs the Debian packages that Tutti is built from, those that are missing and no others: with everything there it
# asks nothing of the network. Needs root or sudo only where something is missing.
#
#   bash host/setup.sh          what the program and its plugins need
#   bash host/setup.sh tests    and what the tests need
set -euo pipefail

# Prints this file's opening comment.
usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }

packages=(build-essential cmake ninja-build qt6-base-dev libfmt-dev libeigen3-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libxxhash-dev)
case "${1:-}" in
  "") ;;
  tests) packages+=(catch2 clang binutils) ;;
  -h | --help) usage && exit 0 ;;
  *) echo "setup.sh: unknown argument \"$1\"; see --help" >&2 && exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is no Debian; if the build misses something, install the counterparts of: ${packages[*]}" >&2
  exit 0
fi

installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: needs root to install ${missing[*]}, and there is no sudo; run this as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
