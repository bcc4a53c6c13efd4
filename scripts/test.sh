#!/usr/bin/env bash
# Runs the tests that are built. Usage: scripts/test.sh SCRATCH_PATH [OPTION ...]; options go to `swift test`.
#
# Tests on real streams (EndToEndTests, MixPipelineTests) measure milliseconds, and a machine that stands still for a
# moment fails them. When at most three of them failed and nothing else did, they run once more by themselves; what failed
# only once is named at the end. Other tests get no second attempt, and no test gets a third.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scratch=${1:?usage: scripts/test.sh SCRATCH_PATH [OPTION ...]}
shift
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

"${SWIFT:-swift}" test --scratch-path "$scratch" --skip-build --xunit-output "$results/first.xml" "$@"
status=$?
[ "$status" -eq 0 ] && exit 0

# The names of failed tests as `--filter` takes them, one a line; nothing when another test failed, too.
mapfile -t failed < <(
    python3 - "$results/first-swift-testing.xml" <<'PY'
import re, sys
import xml.etree.ElementTree as tree

try:
    cases = tree.parse(sys.argv[1]).iter("testcase")
except (OSError, tree.ParseError):
    sys.exit()
names = {
    (case.get("classname"), case.get("name")) for case in cases if case.find("failure") is not None
}
if all(suite.split(".")[0] in ("EndToEndTests", "MixPipelineTests") for suite, _ in names):
    for suite, name in sorted(names):
        print("^" + "[./]".join(re.escape(part) for part in [*suite.split("."), name]))
PY
)
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 3 ]; then
    exit "$status"
fi

filters=()
for name in "${failed[@]}"; do filters+=(--filter "$name"); done
printf '\ntest: %d failed that measure time; once more by themselves\n' "${#failed[@]}"
"${SWIFT:-swift}" test --scratch-path "$scratch" --skip-build --xunit-output "$results/second.xml" --no-parallel "${filters[@]}"
status=$?
# Filters that match nothing prove nothing.
again=$(grep -c '<testcase ' "$results/second-swift-testing.xml" 2>/dev/null)
if [ "$status" -eq 0 ] && [ "${again:-0}" -lt "${#failed[@]}" ]; then
    echo "test: the second attempt ran ${again:-0} of ${#failed[@]} tests" >&2
    exit 1
fi
if [ "$status" -eq 0 ]; then
    printf 'test: failed once, then passed: %s\n' "${failed[@]}"
fi
exit "$status"
