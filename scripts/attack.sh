#!/usr/bin/env bash
# Attacks a service that it starts on loopback; prints a table: attack, expected, seen. Exits 0 if the service withstood all.
#
#   scripts/attack.sh [MIXORCHESTRATOR] [OPTION …]     default: the release build, then the debug build
#
# --help lists the options; the long form is --rooms 1000000 --kills 200 --stores 500 --tasks 3500.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

service=''
if [ $# -gt 0 ] && [ -x "$1" ]; then
    service=$1
    shift
else
    for build in release debug; do
        candidate=${BUILD_DIR:-$root/.build}/$build/mixorchestrator
        [ -x "$candidate" ] && service=$candidate && break
    done
fi
if [ -z "$service" ]; then
    echo "attack: mixorchestrator is not built: run make build" >&2
    exit 2
fi
exec python3 "$root/scripts/attack.py" "$service" "$@"
