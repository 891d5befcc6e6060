#!/usr/bin/env bash
# Runs hf_parity.py in the environment that setup.sh makes; without it ends with 77, which ctest shows as skipped.
#
#   bash tests/oracle/hf_parity.sh PROGRAM    PROGRAM is bin/mamba2 of a build
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
venv=$here/../../build/oracle-venv
if ! cmp --silent "$here/requirements.txt" "$venv/requirements.txt"; then
  echo "SKIPPED: build/oracle-venv is missing or out of date; bash tests/oracle/setup.sh makes it"
  exit 77
fi
export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" "$here/hf_parity.py" --program "$1"
