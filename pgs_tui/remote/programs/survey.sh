# RUN HEAD PLACES PLACE TAIL: a run in one answer. Its files, then the log: whole where it is no longer than what
# would be asked of it, else its first HEAD bytes, PLACES - 1 blocks of PLACE bytes from equal steps through it, and
# its last TAIL bytes. Without wc, dd and head a longer log has no parts here: it is followed from its first byte.
log=$1/events.jsonl
part folder
if [ -d "$1" ]; then (cd "$1" && pwd); fi
facts "$1"
spikes "$1"
part config
if [ -f "$1/config.yaml" ]; then cat <"$1/config.yaml"; fi
part log
size=-
size_and_inode "$log" # what follows is of this size, though the log may have grown by then
most=$(($2 + $3 * $4 + $5))
if [ ! -f "$log" ]; then
    :
elif [ "$size" != - ] && has dd && has head; then
    if [ "$size" -le "$most" ]; then
        part whole
        head -c "$size" <"$log"
    else
        part tail
        tail -c +$((size - $5 + 1)) <"$log" | head -c "$5"
        part head
        head -c "$2" <"$log"
        part places
        blocks=$((size / $4))
        i=1
        while [ "$i" -lt "$3" ]; do
            dd if="$log" bs="$4" skip=$((blocks * i / $3)) count=1 2>/dev/null
            i=$((i + 1))
        done
    fi
elif ! tail -c +$((most + 1)) <"$log" | read -r line; then
    part whole
    cat <"$log"
fi
part console
if [ -f "$1/console.log" ]; then
    size_and_inode "$1/console.log"
fi
