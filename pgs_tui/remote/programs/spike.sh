# RUN STEP: the record of the batch behind a flagged step.
if [ -f "$1/spikes/step-$2.json" ]; then
    part spike
    cat <"$1/spikes/step-$2.json"
fi
