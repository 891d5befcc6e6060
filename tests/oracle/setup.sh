#!/usr/bin/env bash
# Makes build/oracle-venv with what the tests labelled oracle need: PyTorch and transformers, as requirements.txt pins
# them. Takes some minutes and 6 GB, since torch comes with its CUDA libraries; where the folder is up to date, no time.
# Needs Python 3.11 or later and pip.
#
#   bash tests/oracle/setup.sh
set -euo pipefail

case "${1:-}" in
  "") ;;
  -h | --help) sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}" && exit 0 ;;
  *) echo "setup.sh: unknown argument \"$1\"; see --help" >&2 && exit 2 ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=build/oracle-venv
requirements=tests/oracle/requirements.txt
cmp --silent "$requirements" "$venv/requirements.txt" && exit 0

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup.sh: needs python3 of version 3.11 or later; install it and put it first in PATH" >&2
  exit 1
fi
mkdir -p build
python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
"$venv/bin/python" -c 'import torch, transformers; print(f"torch {torch.__version__}, transformers {transformers.__version__}")'
cp "$requirements" "$venv/requirements.txt"  # only now is it whole
