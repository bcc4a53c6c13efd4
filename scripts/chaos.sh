#!/usr/bin/env bash
# Injects faults into a service that it starts on loopback, and prints their effects on a viewer. Exits 0 if every limit is kept.
#
#   scripts/chaos.sh [--minutes 5] [--seed N] [--only NAME] …     the release build, or the debug build
#
# BUILD_DIR is SwiftPM's scratch directory (.build); BIN names a directory with the binaries instead.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

bin=${BIN:-}
if [ -z "$bin" ]; then
    for build in release debug; do
        candidate=${BUILD_DIR:-$root/.build}/$build
        [ -x "$candidate/mixorchestrator" ] && [ -x "$candidate/mixworker" ] && bin=$candidate && break
    done
fi
if [ -z "$bin" ]; then
    echo "chaos: mixorchestrator and mixworker are not built: run make build" >&2
    exit 2
fi
PYTHONPATH=$root/scripts exec python3 -m chaos --binary "$bin" "$@"
