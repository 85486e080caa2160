# RUN FILE OFFSET COUNT: so many bytes of a file of the run from an offset on; without head the last so many of these.
part bytes
if has head; then
    tail -c +$(($3 + 1)) <"$1/$2" | head -c "$4"
else
    tail -c +$(($3 + 1)) <"$1/$2" | tail -c "$4"
fi
