#!/usr/bin/env bash
# What only a real GPU can show: one line for each claim, "shown", "NOT TRUE" or "not shown: why".
#
#   bench/gpu_acceptance.sh [PYTHON]
#
# PYTHON has gpudoctor and tensorflow[and-cuda] installed (default: python3). Takes a minute or two; changes nothing.
# Exit status: 0 nothing was found untrue (also where there is no GPU), 1 something was.
set -uo pipefail

python=${1:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
untrue=0

claim() { # claim TEXT STATUS [WHY]: 0 shown, 1 untrue, 2 not shown
    case $2 in
        0) echo "shown      $1" ;;
        2) echo "not shown  $1: ${3:-no GPU}" ;;
        *) echo "NOT TRUE   $1${3:+: $3}"; untrue=1 ;;
    esac
}

# ask FILE EXPRESSION: whether a Python expression over the report `r` and its facts `f` holds.
ask() {
    "$python" - "$folder/$1" "$2" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
def known(fact): return fact["value"] if fact["state"] == "known" else None
names = {"r": report, "f": report["facts"], "known": known, "rules": [item["rule"] for item in report["findings"]]}
names["outcome"] = {item["rule"]: item["outcome"] for item in report["checks"]}
sys.exit(0 if eval(sys.argv[2], names) else 1)
PY
}

if ! "$python" -m gpudoctor --version >/dev/null 2>&1; then
    echo "$python has no gpudoctor installed" >&2
    exit 1
fi
check() { # check FILE ARGUMENTS...: leaves the exit status in $status
    local file=$1
    shift
    "$python" -m gpudoctor check --python "$("$python" -c 'import sys; print(sys.executable)')" \
        -o "json=$folder/$file" "$@" >"$folder/$file.txt" 2>&1
    status=$?
}

check quick.json --quick
quick=$status
if ask quick.json 'not f["gpus"]'; then
    tail -n 1 "$folder/quick.json.txt"
    ask quick.json '"no-nvidia-gpu" in rules or r["verdict"] == "unknown"'
    claim "without a GPU, gpudoctor says so or that it cannot tell" $?
    for text in "check ends with gpu-works" "NVML and CUDA agree" "a hidden GPU is found out" \
        "the GPU's memory is left as it was" "saved facts give the same answer"; do
        claim "$text" 2
    done
    exit $untrue
fi

nvidia-smi --query-gpu=index,name,uuid,driver_version,memory.total --format=csv,noheader 2>/dev/null
[ "$quick" -eq 0 ]; claim "check --quick finds no error" $? "exit $quick"
ask quick.json '"gpu-works" not in rules'; claim "check --quick never claims that the GPU works" $?

before=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | paste -sd+ - | bc 2>/dev/null)
check full.json
[ "$status" -eq 0 ]; claim "check exits with 0" $? "exit $status"
ask full.json '"gpu-works" in rules'; claim "check ends with gpu-works" $?
ask full.json 'all(item["outcome"] != "error" for item in r["checks"])'; claim "no rule ends in an error of its own" $?
ask full.json 'not [i for i in r["findings"] if i["severity"] in ("error", "warning")]'
claim "no warning on this machine (look at it if there is one)" $?
if ask full.json 'known(f["driver"]["nvml_device_count"]) is not None'; then
    ask full.json 'known(f["driver"]["nvml_device_count"]) == known(f["driver"]["cuda_device_count"]) == len(f["gpus"])'
    claim "NVML and CUDA agree on the number of GPUs, and no GPU is listed twice" $?
else
    claim "NVML and CUDA agree on the number of GPUs" 2 "NVML told no number"
fi
ask full.json 'all(known(g["uuid"]) and known(g["compute_capability"]) and known(g["memory_total_bytes"]) for g in f["gpus"])'
claim "each GPU has UUID, compute capability and memory" $?
ask full.json 'len([d for d in known(f["tensorflow"]["devices"]) or [] if d["kind"] == "GPU"]) == len(f["gpus"])'
claim "TensorFlow lists as many GPUs as the driver" $?
if command -v nvidia-smi >/dev/null; then
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
    ask full.json "known(f['driver']['version']) == '$driver'"; claim "the driver's version is that of nvidia-smi" $?
    uuids=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | sort | paste -sd, -)
    ask full.json "','.join(sorted(known(g['uuid']) or '' for g in f['gpus'])) == '$uuids'"
    claim "the UUIDs are those of nvidia-smi" $?
    sleep 1
    after=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | paste -sd+ - | bc 2>/dev/null)
    if [ -n "$before" ] && [ -n "$after" ]; then
        [ $((after - before)) -lt 64 ]; claim "the GPU's memory is left as it was" $? "$before MiB before, $after MiB after"
    else
        claim "the GPU's memory is left as it was" 2 "bc is missing"
    fi
else
    claim "the driver's version, UUIDs and memory are those of nvidia-smi" 2 "nvidia-smi is missing"
fi

CUDA_VISIBLE_DEVICES=-1 check hidden.json
ask hidden.json '"gpu-hidden-by-env" in rules and "gpu-works" not in rules'
claim "a GPU hidden by CUDA_VISIBLE_DEVICES is found out" $?
[ "$status" -eq 1 ]; claim "and the exit status is 1" $? "exit $status"

"$python" -m gpudoctor snapshot -o "json=$folder/facts.json" >/dev/null 2>&1
"$python" -m gpudoctor check --facts "$folder/facts.json" -o "json=$folder/saved.json" >/dev/null 2>&1
ask saved.json '"gpu-works" in rules'; claim "saved facts give the same answer" $?

# The benchmark: needs the extra `bench` in the same environment, and takes some five minutes.
if ! "$python" -c 'import PIL, scipy' 2>/dev/null; then
    claim "gpudoctor bench measures the GPU" 2 "Pillow or SciPy is missing (the extra bench)"
    exit $untrue
fi
"$python" -m gpudoctor bench --budget 300 --verify --python "$("$python" -c 'import sys; print(sys.executable)')" \
    -o "json=$folder/bench.json" >"$folder/bench.txt" 2>&1
status=$?
cat "$folder/bench.txt"
[ "$status" -eq 0 ]; claim "bench exits with 0" $? "exit $status"
# measured EXPRESSION: whether it holds over the modes, m["gpu-baseline"] and so on.
measured() {
    "$python" - "$folder/bench.json" "$1" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
modes = {one["mode"]: one for one in result["modes"]}
gpu = [modes["gpu-baseline"], modes["gpu-optimized"]]
sys.exit(0 if eval(sys.argv[2], {"r": result, "m": modes, "gpu": gpu}) else 1)
PY
}
measured 'all(one["status"] == "ok" for one in r["modes"])'; claim "all four modes are measured" $?
measured 'all(one["gpu"] and one["gpu"]["samples"] >= 2 for one in gpu)'; claim "NVML is sampled while they run" $?
measured 'max(one["gpu"]["utilization"] or 0 for one in gpu) > 0'; claim "the GPU was at work" $?
measured 'all(one["environment"]["CUDA_VISIBLE_DEVICES"] == r["machine"]["gpu_uuid"] for one in gpu)'
claim "the worker saw the GPU that was chosen, by its UUID" $?
measured 'm["gpu-baseline"]["settings"]["jit_compile"] is False'; claim "the baseline runs without XLA" $?
measured 'all(one["data_wait"] is not None for one in gpu)'; claim "the profiler tells the wait for data" $?
# Where one part clearly decides, the whole is as fast as that part: a quarter off at most.
measured 'all(one["verdict"] in ("balanced", "unknown") or abs(one["images_per_second"]["median"]
    / min(one["ceilings"]["input_only"], one["ceilings"]["compute_only"]) - 1) <= 0.25 for one in gpu)'
claim "end to end is as fast as its slower part" $?
measured 'm["gpu-optimized"]["images_per_second"]["median"] >= 0.95 * m["gpu-baseline"]["images_per_second"]["median"]'
claim "the optimised mode is never slower than the baseline" $?
measured 'all(one["learns"] and one["learns"]["ok"] for one in r["modes"])'; claim "all modes learn" $?
measured 'not [one for one in m["gpu-optimized"]["tried"] if one["kept"] and one["gain"] and one["gain"] < 1.05]'
claim "what is kept has won" $?
exit $untrue
