# RUN OFFSET: whether the log is still the one that was read up to OFFSET, and how its engine is.
log=$1/events.jsonl
facts "$1"
spikes "$1"
part log
size_and_inode "$log"
if [ -f "$log" ] && has head; then
    part head
    head -c 64 <"$log"
    before=$(($2 < 64 ? $2 : 64))
    part before
    tail -c +$(($2 - before + 1)) <"$log" | head -c "$before"
fi
