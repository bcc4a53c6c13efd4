#!/usr/bin/env bash
# Runs all checks that do not need the whole program. Continues after a failure, and lists all failures at the end.
#
#   scripts/check.sh           every step
#   scripts/check.sh STEP…     only these: format, scripts, deployments, paths, edges, pure, build, link, counts
#
# BUILD_DIR is SwiftPM's scratch directory (.build).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${BUILD_DIR:-.build}

# Files that belong to the project: tracked, or about to be, and not just deleted.
project_files() {
    git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
        [ ! -e "$file" ] || printf '%s\n' "$file"
    done
}

check_format() {
    local sources=(Package.swift Sources Tests Benchmarks/Sources Benchmarks/Counts Fuzzing)
    swift format lint --strict --recursive --parallel "${sources[@]}"
}

check_scripts() {
    local scripts
    mapfile -t scripts < <(project_files deploy scripts .ci | xargs grep --files-with-matches '^#!.*sh$' --)
    local script failed=0
    for script in "${scripts[@]}"; do
        bash -n "$script" || failed=1
        [ -x "$script" ] || { echo "$script: not executable"; failed=1; }
    done
    if command -v shellcheck >/dev/null; then
        shellcheck --external-sources "${scripts[@]}" scripts/venv.sh || failed=1
    else
        echo "(shellcheck is not installed: syntax only)"
    fi
    # What judges the media benchmarks' runs.
    PYTHONPATH=scripts python3 -m bench_media.tests --quiet || failed=1
    PYTHONPATH=scripts python3 -m chaos.tests --quiet || failed=1
    scripts/counts.py --table || failed=1
    scripts/scale-model.py --self-test || failed=1
    return $failed
}

# The examples in deploy/. Where their schemas cannot be installed, they are not checked.
check_deployments() {
    local status=0
    scripts/deployments.sh || status=$?
    [ "$status" -ne 2 ] || { echo "(the examples in deploy/ are not checked)"; status=0; }
    return "$status"
}

# Nothing may depend on where this machine keeps things. Paths of the system itself are everywhere the same.
check_paths() {
    local files found
    mapfile -t files < <(project_files | grep -vE '^(LICENSE|scripts/check\.sh)$')
    found=$(grep -nIE '(^|[^A-Za-z0-9_./-])/(home|root|work|Users|opt|mnt)/[A-Za-z0-9_.-]+' -- "${files[@]}")
    found+=$(grep -nIE '(GOPROXY|PIP_INDEX_URL|npm_config_registry|index-url|_proxy=)' -- "${files[@]}")
    [ -z "$found" ] || { printf '%s\n' "$found"; return 1; }
}

# The test run does this too; here it answers within seconds.
check_edges() { MIX_ONLY=pure swift test --scratch-path "$build-pure" --filter 'ModuleEdgesTests|FolderCirclesTests'; }

# Proves that these modules need neither C nor network, and that their arrows point one way.
check_pure() { MIX_ONLY=pure swift build --scratch-path "$build-pure" --build-tests; }

# Warnings are errors in Package.swift.
check_build() { swift build --scratch-path "$build"; }

check_link() {
    local binary=$build/debug/mixorchestrator needed
    [ -x "$binary" ] || { echo "$binary is missing: run the build step first"; return 1; }
    needed=$(ldd "$binary") || return 1
    if printf '%s\n' "$needed" | grep -E 'libgst|libglib|libgobject'; then
        echo "$binary loads GStreamer"
        return 1
    fi
    # The control plane's TLS comes with its packages; OpenSSL is the media plane's. libpq, which is not ours, uses it, too.
    if readelf --dynamic "$binary" | grep NEEDED | grep -E 'libssl|libcrypto'; then
        echo "$binary links OpenSSL"
        return 1
    fi
}

# Instructions and allocations of the paths that every frame and event takes. They need a release build.
check_counts() {
    MIX_ONLY=bench swift build --static-swift-stdlib --scratch-path "$build-bench" --configuration release \
        --product PathCounts || return 1
    scripts/counts.py "$build-bench/release/PathCounts"
}

steps=("$@")
[ $# -gt 0 ] || steps=(format scripts deployments paths edges pure build link counts)
failed=()
for step in "${steps[@]}"; do
    case $step in
    format | scripts | deployments | paths | edges | pure | build | link | counts) ;;
    *)
        echo "check: no step '$step'" >&2
        exit 2
        ;;
    esac
    printf 'check: %s\n' "$step"
    "check_$step" || failed+=("$step")
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'check: FAILED: %s\n' "${failed[*]}" >&2
    exit 1
fi
echo "check: passed"
