#!/usr/bin/env bash
# Runs the tests that are built, in stages, and prints the twenty slowest.
#
#   scripts/test.sh SCRATCH_PATH            every stage
#   scripts/test.sh SCRATCH_PATH fast       pure targets and the store, in parallel
#   scripts/test.sh SCRATCH_PATH OPTION …   options go to `swift test` instead, for one run, one test after another
#
# Stages: `fast`; `service`, the orchestrator without media, in parallel; `media`, what decodes, streams and measures time, one
# test after another: tests that compete with them for the cores would be measured too. No test gets a second attempt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scratch=${1:?usage: scripts/test.sh SCRATCH_PATH [fast | OPTION …]}
shift
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

fast='TextFormats|EncodedMedia|MediaFormats|LayoutEngine|MixModel|ProgramSplicer|EventSubscription|TaskStore'
service='MixOrchestrator'

run() {
    local stage=$1
    shift
    printf 'test: %s\n' "$stage"
    "${SWIFT:-swift}" test --scratch-path "$scratch" --skip-build --xunit-output "$results/$stage.xml" "$@" || status=1
}

status=0
case ${1:-all} in
all)
    run fast --filter "^($fast)Tests[.]"
    run service --filter "^($service)Tests[.]"
    # Whatever is in none of the other stages, so that no target is forgotten.
    run media --no-parallel --skip "^($fast|$service)Tests[.]"
    ;;
fast) run fast --filter "^($fast)Tests[.]" ;;
*) run chosen --no-parallel "$@" ;;
esac

# One line for all stages, as `swift test` ends with one.
python3 - "$status" "$results"/*-swift-testing.xml <<'PY'
import sys
import xml.etree.ElementTree as tree

cases = []
for file in sys.argv[2:]:
    try:
        cases += tree.parse(file).iter("testcase")
    except (OSError, tree.ParseError) as error:
        print(f"test: {file}: {error}")
slowest = sorted(cases, key=lambda case: -float(case.get("time", 0)))[:20]
print("test: the twenty slowest")
for case in slowest:
    print(f'{float(case.get("time", 0)):8.1f} s  {case.get("classname")}/{case.get("name")}')
failed = sum(case.find("failure") is not None for case in cases)
suites = len({case.get("classname") for case in cases})
seconds = sum(float(case.get("time", 0)) for case in cases)
passed = sys.argv[1] == "0" and cases and not failed
print(f'{"✔" if passed else "✘"} Test run with {len(cases)} tests in {suites} suites {"passed" if passed else "failed"} '
      f"after {seconds:.0f} seconds of tests.")
sys.exit(0 if passed else 1)
PY
[ "$?" -eq 0 ] || status=1
exit "$status"
