#!/usr/bin/env bash
# Training at length: 200 epochs on ETTh1 with a checkpoint after each, killed twice on the way and resumed, then used by
# `tutti evaluate` as a member. Before that, 6 epochs with and without kills must end in the same bits.
#
#   bash tests/slow/etth1_200_epochs.sh [OPTIONS]
#
#   --epochs N     so many in place of 200; at least 8
#   --tutti FILE   the program (build/release/bin/tutti)
#   --out DIR      where the runs go (runs/etth1-200-epochs)
#   --record       keep the loss curve and where it comes from in tests/slow, for git; wants a clean checkout
#
# Uses one core. Exit codes: 0 ok, 1 a check failed, 2 bad usage, 77 skipped, for the data lie outside the repository.
set -euo pipefail

usage() { sed -n '2,/^set /{/^# \{0,1\}/s///p}' "${BASH_SOURCE[0]}"; }
fail() { echo "etth1_200_epochs.sh: $1" >&2 && exit "${2:-1}"; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
epochs=200 tutti=$root/build/release/bin/tutti out=$root/runs/etth1-200-epochs record=false
while (($#)); do
  case "$1" in
    --epochs | --tutti | --out)
      (($# > 1)) || fail "$1 wants a value; see --help" 2
      printf -v "${1#--}" %s "$2" && shift
      ;;
    --record) record=true ;;
    -h | --help) usage && exit 0 ;;
    *) fail "unknown argument \"$1\"; see --help" 2 ;;
  esac
  shift
done
[[ $epochs =~ ^([89]|[1-9][0-9]+)$ ]] || fail "--epochs wants a number from 8 on" 2
[[ -x $tutti ]] || fail "there is no $tutti; build it: cmake --preset release && cmake --build --preset release" 2
data=$root/../shared/data/ETTh1.csv
[[ -f $data ]] || { echo "SKIPPED: $data is not there" && exit 77; }
if $record && [[ -n $(git -C "$root" status --porcelain) ]]; then fail "--record wants a clean checkout" 2; fi

mkdir -p "$out"
child=
trap '[[ -z $child ]] || kill -KILL "$child" 2>/dev/null' EXIT
RANDOM=7  # seeds the moments of the kills

curve_of() { echo "$1/checkpoints/fold-1/mamba2.training.csv"; }
epochs_done() { [[ -f $(curve_of "$1") ]] && awk 'END { print NR - 1 }' "$(curve_of "$1")" || echo 0; }
between() { echo $(($1 + RANDOM % ($2 - $1))); } # from $1 up to but not $2
experiment() { # EPOCHS: writes an experiment of so many
  sed -e "s|^path = .*|path = \"$data\"|" -e "s|^epochs = .*|epochs = $1|" "$here/etth1_200_epochs.toml" >"$out/$1-epochs.toml"
  echo "$out/$1-epochs.toml"
}
train() { "$tutti" train "$@" --threads 1; } # its lines go on to the caller's

# train_with_kills EXPERIMENT RUN [EPOCH SIGNAL]…: with each signal sent in the midst of the epoch after EPOCH.
train_with_kills() {
  local toml=$1 run=$2 mode=--overwrite code
  local -A code_after=([KILL]=137 [TERM]=1)
  shift 2
  kills=()
  rm -f "$(curve_of "$run.partial")" # of a run that was given up
  while (($#)); do
    "$tutti" train "$toml" --out "$run" $mode --threads 1 --quiet 2>"$out/killed.txt" &
    child=$!
    until (($(epochs_done "$run.partial") >= $1)); do
      kill -0 $child 2>/dev/null || { cat "$out/killed.txt" >&2 && fail "training ended before epoch $1"; }
      sleep 0.05
    done
    sleep "$(awk -F, -v part="$(between 10 90)" 'END { print $5 * part / 100 }' "$(curve_of "$run.partial")")"
    kill "-$2" $child 2>/dev/null || fail "training was done before it could be killed"
    code=0 && wait $child 2>/dev/null || code=$?
    child=
    ((code == code_after[$2])) || fail "after SIG$2 in epoch $(($1 + 1)) the exit code is $code"
    kills+=("SIG$2 in epoch $(($(epochs_done "$run.partial") + 1))")
    echo "${kills[-1]}"
    mode=--resume
    shift 2
  done
  train "$toml" --out "$run" $mode
}

same() { cmp -s "$1" "$2" || fail "$3"; }
weights() { grep -ao '"tutti.xxh3":"[0-9a-f]*"' "$1/checkpoints/fold-1/mamba2.safetensors" || fail "$1 has no checkpoint"; }

echo "== 6 epochs, whole and killed twice"
short=$(experiment 6)
train "$short" --out "$out/whole" --overwrite
train_with_kills "$short" "$out/cut" 2 KILL 4 TERM
whole=$(weights "$out/whole") cut=$(weights "$out/cut")
[[ $whole == "$cut" ]] || fail "a resumed training ended in other weights"
same <(cut -d, -f1-4 "$(curve_of "$out/whole")") <(cut -d, -f1-4 "$(curve_of "$out/cut")") "a resumed training has another loss curve"
echo "the same bits: $whole"

echo "== $epochs epochs, killed twice"
long=$(experiment "$epochs") run=$out/long
first=$(between $((epochs / 8)) $((epochs / 2))) second=$(between $((epochs / 2)) $((epochs * 7 / 8)))
train_with_kills "$long" "$run" "$first" KILL "$second" TERM
(($(epochs_done "$run") == epochs)) || fail "the loss curve has $(epochs_done "$run") epochs, not $epochs"

echo "== evaluated as a member"
trained=$(weights "$run")
"$tutti" evaluate "$long" --out "$run" --resume --threads 1 --quiet
used=$(weights "$run")
[[ $used == "$trained" ]] || fail "evaluate trained anew"
mse_of() { awk -v name="$1" '{ for (i = 1; i < NF; ++i) if ($i == name) { sub(/\*/, "", $(i + 1)); print $(i + 1); exit } }' "$run/leaderboard.txt"; }
mamba2=$(mse_of mamba2) last_value=$(mse_of last-value)
awk "BEGIN { exit !($mamba2 < $last_value) }" || fail "mamba2's mse $mamba2 is not below last-value's, $last_value"
echo "loss curve: $(curve_of "$run")"

$record || exit 0
cp "$(curve_of "$run")" "$here/etth1_200_epochs.csv"
cat >"$here/PROVENANCE.md" <<EOF
# Where etth1_200_epochs.csv comes from

\`bash tests/slow/etth1_200_epochs.sh --record$([[ $epochs == 200 ]] || echo " --epochs $epochs")\` wrote it, at commit $(git -C "$root" rev-parse --short HEAD), on $(date -u +%Y-%m-%d).

- machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), one core
- compiler: $(c++ --version | head -1)
- data: ETTh1.csv, sha256 $(sha256sum "$data" | cut -c1-16)…, github.com/zhouhaoyi/ETDataset
- killed and resumed: ${kills[0]}, ${kills[1]}
- training took $(awk -F, 'NR > 1 { sum += $5 } END { printf "%.0f s, %.2f s an epoch", sum, sum / (NR - 1) }' "$(curve_of "$run")")
- best epoch: $(awk -F, 'NR > 1 && (best == "" || $3 < best) { best = $3; epoch = $1 } END { print epoch ", validation loss " best }' "$(curve_of "$run")")

Another compiler or processor gives other last digits, and so, after some epochs, another curve; its shape should stay.

\`\`\`
$(cat "$run/leaderboard.txt")
\`\`\`
EOF
echo "recorded in $here"
