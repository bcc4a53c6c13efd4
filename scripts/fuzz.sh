#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer, optimised and in a directory of their own, and runs them one after another.
#
#   scripts/fuzz.sh                     every target, SECONDS_EACH (60) each
#   scripts/fuzz.sh TARGET…             only these; an unknown name prints all names
#   scripts/fuzz.sh TARGET FILE         runs one input again, for example a finding
#
# Environment: SECONDS_EACH · RUNS (inputs of each target instead of seconds) · SEED (0: any) · BUILD_DIR (.build)
#   MERGE=1 adds to Fuzzing/Corpus only those new inputs that reach new code
# Findings are written to fuzz-out/TARGET. Exit status 0 only if there are none.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=${BUILD_DIR:-.build}-fuzzer
out='fuzz-out'
seconds=${SECONDS_EACH:-60}
longest=4096

# The harness reaches internal functions, as the tests do.
MIX_ONLY=fuzz swift build --configuration release --sanitize fuzzer -Xswiftc -enable-testing \
    --scratch-path "$scratch" --product Fuzz
fuzz=$scratch/release/Fuzz

if [[ $# == 2 && -f $2 ]]; then
    MIX_FUZZ_TARGET=$1 exec "$fuzz" "$2"
fi

targets=("$@")
if [[ $# == 0 ]]; then
    mapfile -t targets < <(sed -n 's/^    static let name = "\(.*\)"/\1/p' Fuzzing/Targets/*Target.swift)
fi

# Directories with inputs that are kept.
corpora() {
    [[ -d Fuzzing/Corpus/$1 ]] && echo "Fuzzing/Corpus/$1"
    [[ $1 == layouts ]] && echo layouts
    return 0
}

failed=()
for target in "${targets[@]}"; do
    work=$out/$target
    mkdir -p "$work/found" "$work/seeds"
    MIX_FUZZ_TARGET=$target MIX_FUZZ_SEEDS=$work/seeds "$fuzz"
    mapfile -t kept < <(corpora "$target")
    limit=(-max_total_time="$seconds")
    [[ -n ${RUNS:-} ]] && limit=(-runs="$RUNS")
    if MIX_FUZZ_TARGET=$target "$fuzz" "${limit[@]}" -seed="${SEED:-0}" -timeout=5 -rss_limit_mb=2048 \
        -max_len=$longest -artifact_prefix="$work/" "$work/found" "$work/seeds" "${kept[@]}" >"$work/log" 2>&1; then
        printf '%-12s %s\n' "$target" "$(grep -E '^Done' "$work/log" || tail -n 1 "$work/log")"
    else
        failed+=("$target")
        printf '%-12s FAILED: %s\n' "$target" \
            "$(grep -m 1 -E 'Fatal error|ERROR: libFuzzer|SUMMARY' "$work/log" || tail -n 1 "$work/log")"
        for finding in "$work"/{crash,oom,slow-unit,timeout}-*; do
            [[ ! -e $finding ]] || echo "    again: scripts/fuzz.sh $target $finding"
        done
    fi
    if [[ ${MERGE:-} == 1 ]]; then
        mkdir -p "Fuzzing/Corpus/$target"
        MIX_FUZZ_TARGET=$target "$fuzz" -merge=1 -max_len=$longest "Fuzzing/Corpus/$target" "$work/found" \
            "$work/seeds" >"$work/merge.log" 2>&1
    fi
done
[[ ${#failed[@]} == 0 ]] || { echo "findings: ${failed[*]} (see $out/TARGET/log)"; exit 1; }
