#!/usr/bin/env bash
# Runs the tests that are built, in stages, and prints the twenty slowest.
#
#   scripts/test.sh SCRATCH_PATH            every stage
#   scripts/test.sh SCRATCH_PATH fast       pure targets and the store
#   scripts/test.sh SCRATCH_PATH OPTION …   one run with these options of `swift test`, one test after another
#
# `fast` and `service`, the orchestrator without media, run as two processes side by side. `alone` is what streams, decodes or
# measures time, one test after another: others that compete for the cores would be measured too. No test gets a second attempt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scratch=${1:?usage: scripts/test.sh SCRATCH_PATH [fast | OPTION …]}
shift
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# Two processes use one scratch directory, which SwiftPM would otherwise lock; nothing is built.
swift=("${SWIFT:-swift}" test --ignore-lock --scratch-path "$scratch" --skip-build)

fast='(TextFormats|EncodedMedia|MediaFormats|LayoutEngine|MixModel|ProgramSplicer|EventSubscription|TaskStore)Tests[.]'
service='(RoomService|HTTPInterface|MixOrchestrator)Tests[.]'
# Suites of the service that measure time, memory or the machine.
timed='[.](RoomFloodTests|UnsignedCallerTests|ConnectionLimitTests|ShutdownSignalsTests|LoadFlowTests)/'

status=0
run() {
    local name=$1
    shift
    "${swift[@]}" --no-parallel --xunit-output "$results/$name.xml" "$@"
}

# Divides the suites of one stage between two processes, by their number of tests. The second one's output follows the first's.
side_by_side() {
    local stage=$1 halves
    printf 'test: %s, as two processes\n' "$stage"
    mapfile -t halves < <(
        "${swift[@]}" list 2>/dev/null | grep -E "^$2" | grep -vE "${3:-^$}" | sed 's|[/(].*||' | python3 -c '
import collections, re, sys

suites = collections.Counter(line.strip() for line in sys.stdin)
if len(suites) < 2:
    sys.exit()  # An empty half would match nothing and pass.
halves, sizes = [[], []], [0, 0]
for suite, tests in sorted(suites.items(), key=lambda item: (-item[1], item[0])):
    half = sizes.index(min(sizes))
    halves[half].append(re.escape(suite))
    sizes[half] += tests
for half in halves:
    print("^(" + "|".join(sorted(half)) + ")([/(]|$)")
')
    if [ "${#halves[@]}" -ne 2 ]; then
        echo "test: no tests for $stage" >&2
        status=1
        return
    fi
    run "$stage-2" --filter "${halves[1]}" >"$results/$stage-2.log" 2>&1 &
    run "$stage-1" --filter "${halves[0]}" || status=1
    wait "$!" || status=1
    cat "$results/$stage-2.log"
}

case ${1:-all} in
all)
    side_by_side fast "$fast"
    side_by_side service "$service" "$timed"
    printf 'test: alone, one after another\n'
    # Everything else, so that no target is forgotten.
    run alone --filter "$timed" --filter "^(?!$fast|$service)" || status=1
    ;;
fast) side_by_side fast "$fast" ;;
*) run chosen "$@" || status=1 ;;
esac

# One line for all runs, as `swift test` ends with one.
python3 - "$status" "$results"/*-swift-testing.xml <<'PY' || status=1
import sys
import xml.etree.ElementTree as tree

cases = []
for file in sys.argv[2:]:
    try:
        cases += tree.parse(file).iter("testcase")
    except (OSError, tree.ParseError) as error:
        print(f"test: {file}: {error}")
print("test: the twenty slowest")
for case in sorted(cases, key=lambda case: -float(case.get("time", 0)))[:20]:
    print(f'{float(case.get("time", 0)):8.1f} s  {case.get("classname")}/{case.get("name")}')
failed = [case for case in cases if case.find("failure") is not None]
for case in failed:
    print(f'test: failed: {case.get("classname")}/{case.get("name")}')
suites = len({case.get("classname") for case in cases})
seconds = sum(float(case.get("time", 0)) for case in cases)
passed = sys.argv[1] == "0" and cases and not failed
print(f'{"✔" if passed else "✘"} Test run with {len(cases)} tests in {suites} suites {"passed" if passed else "failed"} '
      f"after {seconds:.0f} seconds of tests.")
sys.exit(0 if passed else 1)
PY
exit "$status"
