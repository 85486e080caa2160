#!/usr/bin/env bash
# Installs pgs-tui into .venv on first use, then trains the config in the live dashboard.
set -euo pipefail

usage() {
    cat <<'TEXT'
./run.sh [CONFIG] [--section.field VALUE ...]

Trains CONFIG (configs/quickstart.yaml if none is named) in the live dashboard; without a terminal (a pipe, cron,
nohup) it trains in the foreground and prints the step lines. The first start installs everything into .venv.

  ./run.sh
  ./run.sh my.yaml --train.learning_rate 1e-5
  nohup ./run.sh my.yaml > train.log &
  CUDA_VISIBLE_DEVICES=1 ./run.sh my.yaml        train on the second GPU

Everything else that pgs-tui can do works too, for example ./run.sh attach latest; .venv/bin/pgs-tui --help tells more.
TEXT
}

find_root() {
    local here=${BASH_SOURCE[0]} link
    while [[ -L $here ]]; do
        link=$(readlink "$here")
        [[ $link == /* ]] || link=$(dirname "$here")/$link
        here=$link
    done
    cd -P "$(dirname "$here")" && pwd
}

ROOT=$(find_root)
VENV=$ROOT/.venv
. "$ROOT/.ci/setup.sh"
. "$ROOT/.ci/gpu.sh"

case ${1:-} in
    -h | --help) usage && exit 0 ;;
esac
ensure_environment runtime
case ${1:-} in
    "") set -- quickstart && choose_gpu && say "$GPU_LINE" ;;
    attach | --version | --reset-terminal) ;;
    *) choose_gpu && say "$GPU_LINE" ;;
esac
exec "$VENV/bin/pgs-tui" "$@"
