#!/usr/bin/env bash
# Makes an optimised build, in a directory of its own, and measures the pure modules, the whole service from outside, and its media.
#
#   scripts/bench.sh                    all except the media benchmarks
#   scripts/bench.sh pure               the pure modules
#   scripts/bench.sh fuzz COUNT SEED    breaks layouts
#   scripts/bench.sh playback           viewers over HTTP-FLV compared with nginx-rtmp; the same as `service playback`
#   scripts/bench.sh service [NAME…]    the service: events, calls, plans, restart, memory, playback, cluster
#   scripts/bench.sh media [CASE] …     the service compared with ffmpeg, from RTMP to RTMP; `media --help` lists the cases
#   scripts/bench.sh pages …            web pages as sources, compared with the usual way; `pages --help` lists the options
#   scripts/bench.sh outputs            the cost of another RTMP destination, compared with nginx-rtmp as a fan-out
#
# Figures and plots of them are written to bench-out/.
set -euo pipefail
cd "$(dirname "$0")/.."
export MIX_ONLY=bench
scratch=${BUILD_DIR:-.build}-bench
# As deploy/README.md has it, for the figures to be those of what is installed.
build() { swift build --static-swift-stdlib --scratch-path "$scratch" --configuration release --product "$1"; }

pure() {
    build Benchmarks
    if [[ ${1:-} == fuzz ]]; then
        "$scratch/release/Benchmarks" "$@"
    else
        "$scratch/release/Benchmarks" "$@" | scripts/bench-plot.py pure
    fi
}

service() {
    build mixorchestrator
    build ServiceBenchmarks
    # Real relays, for the restart; they need GStreamer, which the rest does not.
    MIX_ONLY=media build mixworker
    "$scratch/release/ServiceBenchmarks" "$scratch/release/mixorchestrator" "$@" | scripts/bench-plot.py service
}

outputs() {
    MIX_ONLY=media build mixworker
    scripts/bench-outputs.py "$scratch/release/mixworker" "$@" | scripts/bench-plot.py outputs
}

# Builds nothing if a directory with binaries is given, or only help is wanted.
binaries=()
build_both() {
    if [[ " $* " != *" --binary"* && " $* " != *" --help "* && " $* " != *" -h "* ]]; then
        build mixorchestrator
        MIX_ONLY=media build mixworker
        binaries=(--binary "$scratch/release")
    fi
}

media() {
    build_both "$@"
    # The case comes first.
    PYTHONPATH=scripts exec python3 -m bench_media "$@" "${binaries[@]}"
}

pages() {
    build_both "$@"
    exec scripts/bench-pages.py "$@" "${binaries[@]}"
}

case ${1:-all} in
all)
    pure
    service
    outputs
    ;;
pure) pure ;;
fuzz) pure "$@" ;;
service) service "${@:2}" ;;
playback) service playback ;;
outputs) outputs "${@:2}" ;;
media) media "${@:2}" ;;
pages) pages "${@:2}" ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
