# FOLDER TAIL LEVELS MOST: the runs up to LEVELS below a folder, or the folder itself where it is one, each with what is
# needed for a row of a list; TAIL bytes of each log's end. Links are not followed; of more than MOST folders some are cut.
part folder
if [ -d "$1" ]; then (cd "$1" && pwd); fi
is_run() { [ -f "$1/run.json" ] || [ -f "$1/events.jsonl" ]; }
row() {
    part name
    printf '%s' "$2"
    facts "$1"
    part summary
    if [ -f "$1/summary.json" ]; then cat <"$1/summary.json"; fi
    part notes
    if [ -f "$1/notes.json" ]; then cat <"$1/notes.json"; fi
    part log
    size_and_inode "$1/events.jsonl"
    part tail
    if [ -f "$1/events.jsonl" ]; then tail -c "$3" <"$1/events.jsonl"; fi
    part disk
    if has du; then du -sk -- "$1"; fi
    part done
}
top=$1 tail=$2 left=$4
# FOLDER LEVELS: the list of the loop is made before it begins, so that what is below may use the same names.
look_below() {
    for below in "$1"/*/; do
        below=${below%/}
        if [ -L "$below" ] || [ ! -d "$below" ]; then continue; fi
        case ${below##*/} in venv | node_modules | site-packages | __pycache__) continue ;; esac
        if [ "$left" -le 0 ]; then return; fi
        left=$((left - 1))
        if is_run "$below"; then
            row "$below" "${below#"$top"/}" "$tail"
        elif [ "$2" -gt 1 ] && [ ! -f "$below/pyvenv.cfg" ] && [ ! -d "$below/conda-meta" ]; then
            look_below "$below" $(($2 - 1))
        fi
    done
}
if is_run "$1"; then
    row "$1" . "$2"
else
    look_below "$1" "$3"
    if [ "$left" -le 0 ]; then part cut; fi
fi
