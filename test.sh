#!/usr/bin/env bash
# Installs what the tests need, then runs every check: lint, format, types, import rules, tests.
# ./test.sh [PYTEST ARGUMENTS ...], for example: ./test.sh tests/engine -k resume
set -euo pipefail

ROOT=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VENV=$ROOT/.venv
. "$ROOT/.ci/setup.sh"

# What some tests need of the system; where it cannot be installed they are skipped, and say so.
install_programs() {
    local missing=()
    command -v tmux >/dev/null || missing+=(tmux)
    PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd >/dev/null || missing+=(openssh-server)
    [[ ${#missing[@]} -gt 0 ]] || return 0
    command -v apt-get >/dev/null || return 0
    local sudo=""
    if [[ $(id -u) -ne 0 ]]; then
        sudo -n true 2>/dev/null || return 0
        sudo="sudo -n"
    fi
    say "installing ${missing[*]}"
    $sudo apt-get update -qq >/dev/null || true
    without_daemons $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || true
}

# The tests have an ssh server of their own; the package must start none on port 22.
without_daemons() {
    local policy=/usr/sbin/policy-rc.d sudo=""
    [[ $(id -u) -eq 0 ]] || sudo="sudo -n"
    if [[ -e $policy || -L $policy ]]; then
        "$@"
        return
    fi
    (
        trap '$sudo rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
        $sudo chmod 755 "$policy"
        "$@"
    )
}

# One more than there are cores, as many tests wait for programs they have started; more than four only takes memory.
worker_count() {
    local cores
    cores=$("$VENV/bin/python" -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)')
    echo $((cores > 3 ? 4 : cores + 1))
}

check() {
    say "$*"
    "$VENV/bin/python" -m "$@" || FAILED+=("$*")
}

cd "$ROOT"
ensure_environment test
install_programs
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1

FAILED=()
check ruff check .
check ruff format --check .
# Types are checked while the tests begin: one of them mostly waits, and mypy has no use for a second core.
TYPES=$(mktemp)
trap 'rm -f "$TYPES"' EXIT
"$VENV/bin/python" -m mypy >"$TYPES" 2>&1 &
MYPY=$!
say "lint-imports"
"$VENV/bin/lint-imports" --no-logo || FAILED+=("lint-imports")

say "pytest"
"$VENV/bin/python" -m pytest --numprocesses "$(worker_count)" --dist loadgroup --no-loadscope-reorder \
    --durations 10 "$@" ||
    FAILED+=("pytest")

say "mypy"
wait "$MYPY" || FAILED+=("mypy")
cat "$TYPES"

if [[ ${#FAILED[@]} -gt 0 ]]; then
    printf -v failed "%s; " "${FAILED[@]}"
    die 1 "failed: ${failed%; }"
fi
