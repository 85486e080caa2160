# Sent once to a shell over there, before all else. A frame line begins a part of an answer.
LC_ALL=C
export LC_ALL
umask 077
cd 2>/dev/null || :
part() { echo "$mark $1"; }
has() { command -v "$1" >/dev/null 2>&1; }

# "SIZE INODE" of a file, each "-" where the system has no way to tell; nothing for a file that is not there.
size_and_inode() {
    [ -f "$1" ] || return 0
    size=- inode=-
    if has wc; then size=$(wc -c <"$1") && size=$((size)); fi
    if has ls; then
        inode=$(ls -id -- "$1")
        while [ "${inode# }" != "$inode" ]; do inode=${inode# }; done
        inode=${inode%% *}
    fi
    echo "$size $inode"
}

# Who runs it: the run's own record, and what this machine knows of the process named there.
facts() {
    part run
    pid=
    if [ -f "$1/run.json" ]; then
        cat <"$1/run.json"
        while read -r key value; do
            if [ "$key" = '"pid":' ]; then pid=${value%,}; fi
        done <"$1/run.json"
    fi
    case $pid in '' | *[!0-9]*) pid=0 ;; esac
    part process
    if [ -r /proc/self/stat ]; then
        if [ -r "/proc/$pid/stat" ]; then cat "/proc/$pid/stat"; fi
    elif has ps; then
        TZ=UTC0 ps -o lstart= -p "$pid"
    fi
    part boot
    if [ -r /proc/sys/kernel/random/boot_id ]; then cat /proc/sys/kernel/random/boot_id; fi
    part host
    if has uname; then uname -n; elif [ -r /proc/sys/kernel/hostname ]; then cat /proc/sys/kernel/hostname; fi
    part clock
    if has date; then date +%s; fi
}

# The names of the recorded batches of a run, one a line.
spikes() {
    part spikes
    for record in "$1"/spikes/step-*.json; do
        if [ -f "$record" ]; then echo "${record##*/}"; fi
    done
}
