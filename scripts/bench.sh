#!/usr/bin/env bash
# Builds the pure modules optimised, in a directory of their own, and runs Benchmarks/ with the arguments given.
set -euo pipefail
cd "$(dirname "$0")/.."
export MIX_ONLY=bench
scratch=${BUILD_DIR:-.build}-bench
swift build --scratch-path "$scratch" --configuration release --product Benchmarks
exec "$scratch/release/Benchmarks" "$@"
