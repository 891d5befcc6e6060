#!/usr/bin/env bash
# Builds the program and its plugins, and evaluates the demo experiment: an ensemble on the yields of US treasuries.
# The report is in runs/treasury afterwards. Installs missing packages first.
#
#   bash host/demo.sh [OPTIONS OF tutti evaluate]
set -euo pipefail

usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }
[[ ${1:-} == -h || ${1:-} == --help ]] && usage && exit 0

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash host/setup.sh

options=(-DTUTTI_TESTS=OFF)
command -v ccache >/dev/null && options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset release --log-level=WARNING "${options[@]}" >/dev/null
cmake --build --preset release --target tutti_program tutti_all_plugins

exec build/release/bin/tutti evaluate host/demo/treasury.toml --out runs/treasury --overwrite "$@"
