# FOLDER TAIL: the runs in a folder and in those directly below it, or the folder itself where it is one, each with what
# is needed for a row of a list; TAIL bytes of each log's end.
part folder
if [ -d "$1" ]; then (cd "$1" && pwd); fi
row() {
    if [ ! -f "$1/run.json" ] && [ ! -f "$1/events.jsonl" ]; then return; fi
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
if [ -f "$1/run.json" ] || [ -f "$1/events.jsonl" ]; then
    row "$1" . "$2"
else
    for run in "$1"/*/ "$1"/*/*/; do
        run=${run%/}
        if [ -L "$run" ] || [ -f "${run%/*}/run.json" ]; then continue; fi
        row "$run" "${run#"$1"/}" "$2"
    done
fi
