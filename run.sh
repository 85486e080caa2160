#!/usr/bin/env bash
# Installs pgs-tui into .venv on first use, then trains the config in the live dashboard.
set -euo pipefail

usage() {
    cat <<'TEXT'
./run.sh [CONFIG] [--section.field value ...]

Trains CONFIG (configs/quickstart.yaml if none is named) in the live dashboard; without a terminal (a pipe, cron,
nohup) it trains in the foreground and prints the step lines. The first start installs everything into .venv.

  ./run.sh
  ./run.sh configs/smollm2_135m/cpu.yaml --train.learning_rate 1e-5
  nohup ./run.sh my.yaml > train.log &
  CUDA_VISIBLE_DEVICES=1 ./run.sh my.yaml        train on the second GPU

Any other command of pgs-tui works too, for example: ./run.sh attach latest
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

# A word that can be no file of a config is a command of pgs-tui: attach, runs, ...
is_command() {
    [[ $1 =~ ^[a-z][a-z-]*$ && ! -e $1 ]]
}

# Splits the arguments into CONFIG and OVERRIDES.
read_arguments() {
    CONFIG="" OVERRIDES=()
    while [[ $# -gt 0 ]]; do
        case $1 in
            --*=*) OVERRIDES+=("$1") ;;
            --*.*)
                [[ $# -ge 2 ]] || die 2 "$1 needs a value: $1 VALUE"
                OVERRIDES+=("$1" "$2")
                shift
                ;;
            -*) die 2 "unknown option $1; ./run.sh --help lists what there is" ;;
            *)
                [[ -z $CONFIG ]] || die 2 "one config at a time: found $CONFIG and $1"
                CONFIG=$1
                ;;
        esac
        shift
    done
    CONFIG=${CONFIG:-$ROOT/configs/quickstart.yaml}
}

ROOT=$(find_root)
VENV=$ROOT/.venv
. "$ROOT/.ci/setup.sh"
. "$ROOT/.ci/gpu.sh"

case ${1:-} in
    -h | --help) usage && exit 0 ;;
esac
if [[ $# -gt 0 ]] && is_command "$1"; then
    ensure_environment runtime
    exec "$VENV/bin/pgs-tui" "$@"
fi
read_arguments "$@"
ensure_environment runtime
choose_gpu
say "$GPU_LINE"
if [[ -t 0 && -t 1 ]]; then
    exec "$VENV/bin/pgs-tui" "$CONFIG" ${OVERRIDES[@]+"${OVERRIDES[@]}"}
fi
exec "$VENV/bin/pgs" train --config "$CONFIG" ${OVERRIDES[@]+"${OVERRIDES[@]}"}
