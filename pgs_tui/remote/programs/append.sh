# RUN LINE: one line behind the run's control.jsonl, in one write. It must be an ordinary file of this user. What a
# crash left without a line end gets one, so that it is not taken for the line's beginning.
file=$1/control.jsonl
part result
if [ ! -f "$1/run.json" ] && [ ! -f "$1/events.jsonl" ]; then
    echo "no run"
elif [ -L "$file" ]; then
    echo "link"
elif [ -e "$file" ] && [ ! -f "$file" ]; then
    echo "not a file"
elif [ -e "$file" ] && [ ! -O "$file" ] && [ ! -w / ]; then # only root may write to /
    echo "not yours"
elif [ -s "$file" ] && [ -n "$(tail -c 1 <"$file")" ]; then
    printf '\n%s\n' "$2" >>"$file" && echo "written"
elif printf '%s\n' "$2" >>"$file"; then
    echo "written"
fi
