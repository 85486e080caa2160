# RUN FILE OFFSET: the file's bytes from an offset on, and for ever what is written behind them. `tail` ends with the
# channel: whoever watches the channel ends it. Should it end by itself, the frame says so. What it says itself, such as
# that the file was emptied, stands among the bytes, at the place where it happened.
exec 3<&0
part bytes
tail -c +$(($3 + 1)) -f "$1/$2" </dev/null 2>&1 &
follower=$!
{
    while read -r line; do :; done
    kill "$follower"
} <&3 >/dev/null 2>&1 &
wait "$follower"
