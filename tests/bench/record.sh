#!/usr/bin/env bash
# Writes plugins/mamba2/figures.md: what mamba2_bench measures on this machine and, where tests/oracle/setup.sh has been run,
# PyTorch and transformers beside it. Takes some minutes; let nothing else run.
#
#   bash tests/bench/record.sh
set -euo pipefail

case "${1:-}" in
  "") ;;
  -h | --help) sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}" && exit 0 ;;
  *) echo "record.sh: unknown argument \"$1\"; see --help" >&2 && exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --target mamba2_bench >/dev/null

page=plugins/mamba2/figures.md
python=build/oracle-venv/bin/python
written=$(mktemp)
trap 'rm -f "$written"' EXIT
{
  echo "# Figures of the Mamba-2 kernels"
  echo
  echo "Written by \`tests/bench/record.sh\` on $(date +%F), at commit $(git rev-parse --short HEAD). Processor:" \
    "$(sed -n 's/^model name[[:space:]]*: //p;T;q' /proc/cpuinfo), $(nproc) cores of a virtual machine. Compiler: $(c++ --version | head -n 1)."
  echo
  build/release/bin/mamba2_bench --rounds 9
  echo
  echo "## Beside others"
  echo
  if [[ -x $python ]]; then
    "$python" tests/bench/peers/peers.py build/release/bin/mamba2_bench --rounds 7 2>/dev/null
  else
    echo "Not measured: \`tests/oracle/setup.sh\` had not been run."
  fi
} >"$written"
cp "$written" "$page"
echo "Wrote $page"
