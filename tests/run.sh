#!/usr/bin/env bash
# Builds Tutti and runs its tests: installs missing packages, configures and builds the release preset, then runs ctest,
# whose closing lines are the last output and whose exit code is this script's.
#
#   bash tests/run.sh             all but the tests labelled slow, bench or oracle
#   bash tests/run.sh --label L   the tests whose label matches L (unit, abi, layering, e2e, slow …)
#                                 oracle wants bash tests/oracle/setup.sh first, and is skipped without
#   bash tests/run.sh --all       every test
#
# With CI=true in the environment, warnings are errors.
set -euo pipefail

usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }

selection=(--label-exclude 'slow|bench|oracle')
while (($#)); do
  case "$1" in
    --all) selection=() ;;
    --label)
      (($# > 1)) || { echo "run.sh: --label wants a label; see --help" >&2 && exit 2; }
      selection=(--label-regex "^($2)\$") && shift
      ;;
    -h | --help) usage && exit 0 ;;
    *) echo "run.sh: unknown argument \"$1\"; see --help" >&2 && exit 2 ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash host/setup.sh tests

options=(-DTUTTI_TESTS=ON -DTUTTI_WERROR=OFF)
[[ ${CI:-} == true ]] && options+=(-DTUTTI_WERROR=ON)
command -v ccache >/dev/null && options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake --preset release --log-level=WARNING "${options[@]}" >/dev/null
cmake --build --preset release

exec ctest --test-dir build/release --output-on-failure --no-tests=error --parallel "$(nproc)" "${selection[@]}"
