# RUN FILE OFFSET COUNT: so many bytes of a file of the run from an offset on.
part bytes
tail -c +$(($3 + 1)) <"$1/$2" | head -c "$4"
