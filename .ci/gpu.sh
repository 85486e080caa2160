# Sourced by run.sh: says which GPU will train, and takes the freest of several.

# Sets GPU_LINE. Exports CUDA_VISIBLE_DEVICES when there are several GPUs and the user has chosen none.
choose_gpu() {
    local listing
    if [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
        GPU_LINE=$(describe_chosen_devices)
        return
    fi
    if ! command -v nvidia-smi >/dev/null; then
        GPU_LINE="no NVIDIA GPU found; training on the CPU"
        return
    fi
    listing=$(nvidia-smi --query-gpu=index,uuid,name,memory.total,memory.used \
        --format=csv,noheader,nounits 2>&1) || true
    choose_from_listing "$listing"
}

describe_chosen_devices() {
    case $CUDA_VISIBLE_DEVICES in
        "" | -1*) echo "CUDA_VISIBLE_DEVICES hides every GPU; training on the CPU" ;;
        *) echo "training on the GPU that CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES names" ;;
    esac
}

# Lines like "0, GPU-5d3c..., NVIDIA A100-SXM4-40GB, 40960, 513"; memory may be "[N/A]" (MIG, some drivers).
choose_from_listing() {
    local line index uuid name total used free count=0 best_free=-1 best="" said=""
    while IFS= read -r line; do
        if [[ ! $line =~ ^[0-9]+,\ *GPU- ]]; then
            said=${said:-$line}
            continue
        fi
        IFS=, read -r index uuid name total used <<<"$line"
        uuid=${uuid// /} name=${name# } total=${total// /} used=${used// /}
        count=$((count + 1))
        free=-1
        [[ $total =~ ^[0-9]+$ && $used =~ ^[0-9]+$ ]] && free=$((total - used))
        if [[ -z $best || $free -gt $best_free ]]; then
            best=$uuid best_free=$free
            GPU_LINE="GPU $index, $name$(describe_memory "$free" "$total")"
        fi
    done <<<"$1"
    if [[ $count -eq 0 ]]; then
        GPU_LINE="no usable NVIDIA GPU (nvidia-smi: ${said:-no output}); training on the CPU"
    elif [[ $count -gt 1 && $best_free -lt 0 ]]; then
        GPU_LINE="$count GPUs whose memory cannot be read; taking the first (to choose: CUDA_VISIBLE_DEVICES=1 ./run.sh ...)"
    elif [[ $count -gt 1 ]]; then
        export CUDA_VISIBLE_DEVICES=$best
        GPU_LINE="$GPU_LINE, the freest of $count (to choose: CUDA_VISIBLE_DEVICES=1 ./run.sh ...)"
    fi
}

describe_memory() {
    local free=$1 total=$2
    if [[ $free -lt 0 ]]; then
        echo ", memory not readable"
    else
        echo ", $(gib "$free") of $(gib "$total") GiB free"
    fi
}

gib() { echo "$(($1 / 1024)).$(($1 % 1024 * 10 / 1024))"; }
