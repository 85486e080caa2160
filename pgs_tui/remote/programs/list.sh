# FOLDER TAIL: the runs directly in a folder, each with what is needed for a row of a list; TAIL bytes of each log's end.
part folder
if [ -d "$1" ]; then (cd "$1" && pwd); fi
for run in "$1"/*/; do
    run=${run%/}
    if [ -L "$run" ]; then continue; fi
    if [ ! -f "$run/run.json" ] && [ ! -f "$run/events.jsonl" ]; then continue; fi
    part name
    printf '%s' "${run##*/}"
    facts "$run"
    part summary
    if [ -f "$run/summary.json" ]; then cat <"$run/summary.json"; fi
    part log
    size_and_inode "$run/events.jsonl"
    part tail
    if [ -f "$run/events.jsonl" ]; then tail -c "$2" <"$run/events.jsonl"; fi
    part disk
    if has du; then du -sk -- "$run"; fi
done
