#!/usr/bin/env bash
# Runs the tests that are built, in stages, and prints the twenty slowest.
#
#   scripts/test.sh SCRATCH_PATH            every stage
#   scripts/test.sh SCRATCH_PATH fast       pure targets and the store
#   scripts/test.sh SCRATCH_PATH OPTION …   one run with these options of `swift test`, one test after another
#
# Four stages run several processes at once: `fast`; `service`, the orchestrator without media, and the probe; `network`, which waits for
# servers that are slow, restart or hang, and needs little of the machine; and `patient`, whole services and pages with real streams,
# of which something must come true, whenever that is. `alone` is what streams, decodes or measures time,
# one test after another: others that compete for the cores would be measured too, even at the lowest priority. No test gets a
# second attempt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scratch=${1:?usage: scripts/test.sh SCRATCH_PATH [fast | OPTION …]}
shift
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# Two processes use one scratch directory, which SwiftPM would otherwise lock; nothing is built.
read -ra options <<<"${TEST_OPTIONS:-}"
swift=("${SWIFT:-swift}" test "${options[@]}" --ignore-lock --scratch-path "$scratch" --skip-build)

fast='(ChildProcesses|TextFormats|EncodedMedia|MediaFormats|LayoutEngine|MixModel|ProgramSplicer|RoomChannel|SocketIO|EventSubscription|ObjectStorage|TaskStore)Tests[.]'
# Suites of the store that restart database servers for half a minute.
database='TaskStoreTests[.]PostgreSQL(Loss|Failover)Tests'
service="((RoomService|HTTPInterface|MixOrchestrator|ViewerProbe)Tests[.]|$database)"
# Suites of the service that measure time, memory or the machine.
timed='[.](RoomFloodTests|WebSocketServerTests|UnsignedCallerTests|ConnectionLimitTests|ShutdownSignalsTests|LoadFlowTests|ChannelLoadTests|EngineIOSuiteTests|SocketIO(Suite|Server)Tests)/'
network='MediaPlaneTests[.](Output(Fault|File|Reconnect|RTMP|TLS|Relay|SRT|WHIP)|Pull(HLS|Relay|RTMP|Session|Socket|Worker)|Recorder(TakeOver)?|TCPDialler|TLSSession|Ingest(Server|TLS)|PageIsolation|GoldenPicture|MixerDrawing|WorkerStart)Tests(/|$)'
patient='(EndToEndTests[.](Attack|BelowAPath|Chat|Cluster(Files|Player)|Console(Files|Room|Versions|Webhook)?|Crash|Database|ForkServerLoss|Hook|HundredMS|Ingest|MakeRun|PageTLS|Playback|Player|Redaction|Restart|RoomEnd|Shutdown|Silence|SocketIOBrowser|Turn|WatchPage|WCSMedia|WebhookLoss)|MediaPlaneTests[.]PageAbsence)Tests(/|$)'
# Suites that take long run as processes of their own, and start first.
long='[.](SchemathesisTests|RequestCostTests|FuzzTests|SplicerTests|OutputFaultTests|OutputRTMPTests|OutputTLSTests|PullHLSTests|PullWorkerTests|ConsoleTests|CrashTests|RestartTests|WatchPageTests)$'

status=0
listed=
run() {
    local name=$1
    shift
    "${swift[@]}" --no-parallel --xunit-output "$results/$name.xml" "$@"
}

# Runs a part of a stage, and prints its output when it is over, not among that of others.
run_part() {
    local name=$1 filter=$2 result=0
    run "$name" --filter "$filter" >"$results/$name.log" 2>&1 || result=1
    flock "$results/output" cat "$results/$name.log"
    return "$result"
}

# Divides the suites of a stage into parts, and runs so many of them at once.
side_by_side() {
    local stage=$1 workers=$2 number=0 running=0 parts part
    printf 'test: %s, as %d processes\n' "$stage" "$workers"
    # All stages divide the same list.
    [ -n "$listed" ] || listed=$("${swift[@]}" list 2>/dev/null)
    mapfile -t parts < <(
        printf '%s\n' "$listed" | grep -E "^$3" | grep -vE "${4:-^$}" | sed 's|[/(].*||' | python3 -c '
import collections, re, sys

long, workers = re.compile(sys.argv[1]), int(sys.argv[2])
suites = collections.Counter(line.strip() for line in sys.stdin)
parts = [[suite] for suite in sorted(suites) if long.search(suite)]
rest = [suite for suite in sorted(suites, key=lambda suite: -suites[suite]) if not long.search(suite)]
# Three for each process, so that one that is done early takes another.
parts += [part for part in (rest[first :: 3 * workers] for first in range(3 * workers)) if part]
for part in parts:
    print("^(" + "|".join(re.escape(suite) for suite in part) + ")([/(]|$)")
' "$long" "$workers"
    )
    if [ "${#parts[@]}" -eq 0 ]; then
        echo "test: no tests for $stage" >&2
        status=1
        return
    fi
    for part in "${parts[@]}"; do
        if [ "$running" -eq "$workers" ]; then
            wait -n || status=1
            running=$((running - 1))
        fi
        number=$((number + 1))
        running=$((running + 1))
        run_part "$stage-$number" "$part" &
    done
    while [ "$running" -gt 0 ]; do
        wait -n || status=1
        running=$((running - 1))
    done
}

case ${1:-all} in
all)
    side_by_side fast 2 "$fast" "$database"
    side_by_side service 2 "$service" "$timed"
    side_by_side network 3 "$network"
    side_by_side patient 2 "$patient"
    printf 'test: alone, one after another\n'
    # Everything else, so that no target is forgotten.
    run alone --filter "$timed" --filter "^(?!$fast|$service|$network|$patient)" || status=1
    ;;
fast) side_by_side fast 2 "$fast" "$database" ;;
*) run chosen "$@" || status=1 ;;
esac

# One line for all runs, as `swift test` ends with one.
python3 - "$status" "$results"/*.xml <<'PY' || status=1
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
