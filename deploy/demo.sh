#!/usr/bin/env bash
# Shows the service at work on real streams and measures every switch from the viewer's side; `make demo` runs it.
#
# Environment: KEEP=1 goes on until Ctrl-C · ROUNDS (3) joins and leaves · BUILD_DIR (.build) · OUT (demo-out)
# Exit status 0 only if every switch is within its limits.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
bin=${BIN:-$root/${BUILD_DIR:-.build}/debug}
[[ ${BUILD_DIR:-} == /* ]] && bin=${BIN:-$BUILD_DIR/debug}
out=${OUT:-$root/demo-out}
rounds=${ROUNDS:-3}
room=demo

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

die() {
    echo "demo: $*" >&2
    exit 1
}

for program in "$bin/mixworker" "$bin/mixorchestrator"; do
    [[ -x "$program" ]] || die "$program is missing: run \`make build\` first"
done
for program in curl ffmpeg; do
    command -v "$program" >/dev/null || die "$program is not installed: run deploy/setup.sh"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/mix-demo.XXXXXX")
mkdir -p "$out"
children=()
probe=

# Ends a process that this script has started: asks, waits up to 12 s, then insists.
end() {
    local pid=$1
    kill -TERM "$pid" 2>/dev/null || return 0
    for _ in $(seq 240); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
}

clean_up() {
    local status=$?
    trap - EXIT
    set +e
    if [[ $status != 0 && -n ${started:-} && -z ${judged:-} ]]; then
        echo "--- last messages of the service" >&2
        tail -n 20 "$work/mixorchestrator.log" >&2
        tail -n 20 "$work"/data/relays/*.log >&2 2>/dev/null
    fi
    [[ -n $probe ]] && end "$probe"
    local index
    for ((index = ${#children[@]} - 1; index >= 0; index--)); do end "${children[index]}"; done
    "$here/media-server.sh" stop "$work/nginx"
    if [[ $status == 0 ]]; then rm -rf "$work"; else cp "$work"/*.log "$work"/data/relays/*.log "$out"/ 2>/dev/null; rm -rf "$work"; fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

start() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 </dev/null &
    children+=($!)
}

# --- media server, service, publishers -------------------------------------------------------------------------------

say "starting the media server (nginx with RTMP)"
ports=$("$here/media-server.sh" start "$work/nginx")
rtmp=$(sed -n 's/^RTMP_PORT=//p' <<<"$ports")
stat=http://127.0.0.1:$(sed -n 's/^HTTP_PORT=//p' <<<"$ports")/stat
live=rtmp://127.0.0.1:$rtmp/live
cdn=rtmp://127.0.0.1:$rtmp/cdn/$room

for attempt in 1 2 3; do
    http=$((32000 + RANDOM % 8000))
    say "starting the service on port $http"
    start mixorchestrator "$bin/mixorchestrator" serve --listen "127.0.0.1:$http" --data "$work/data" \
        --layouts "$root/layouts"
    service=${children[-1]}
    for _ in $(seq 200); do
        kill -0 "$service" 2>/dev/null || break
        curl -fsS -o "$work/health.json" "http://127.0.0.1:$http/healthz" 2>/dev/null && break 2
        sleep 0.05
    done
    [[ $attempt == 3 ]] && die "the service does not answer: $(tail -n 3 "$work/mixorchestrator.log")"
done
started=1
api=http://127.0.0.1:$http

publish() {
    local name=$1
    shift
    start "publisher-$name" "$bin/mixworker" publish "$live/$name" "$@"
    for _ in $(seq 200); do
        kill -0 "${children[-1]}" 2>/dev/null || die "publisher $name ended: $(tail -n 3 "$work/publisher-$name.log")"
        curl -fsS "$stat" 2>/dev/null | grep -q "<name>$name</name>" && return
        sleep 0.05
    done
    die "publisher $name cannot reach the media server"
}

say "starting two publishers: alice (host, red, 720x1280@20) and bob (guest, blue)"
publish alice --id 1
publish bob --id 2 --gop 1

# --- room ------------------------------------------------------------------------------------------------------------

call() {
    local method=$1 path=$2 body=${3:-} answer
    answer=$(curl -sS -X "$method" ${body:+-H 'Content-Type: application/json' -d "$body"} -w '\n%{http_code}' "$api$path")
    [[ ${answer##*$'\n'} == 2* ]] || die "$method $path: ${answer//$'\n'/ }"
}

event() { call POST "/v1/rooms/$room/events" "$1"; }

wait_for() {
    local wanted=$1
    for _ in $(seq 240); do
        curl -sS -o "$work/task.json" "$api/v1/tasks/auto-$room"
        if grep -Eq "\"onAir\" ?: ?\"$wanted\"" "$work/task.json"; then return; fi
        sleep 0.05
    done
    die "the program is not $wanted within 12 s: $(head -c 600 "$work/task.json")"
}

# The frame rate that the service says it has come down to because the machine is busy; nothing while it is whole.
lowered_fps() { sed -nE 's/.*"degradation" ?: ?\{[^}]*"fps" ?: ?([0-9.]+).*/\1/p' "$work/task.json"; }

# Keeps the task with the lowest frame rate: the probe takes the scene and the rate from it.
lowest=
note_scene() {
    local fps
    fps=$(lowered_fps)
    if [[ -z $lowest ]] || { [[ -n $fps ]] && awk "BEGIN { exit !($fps < $lowest) }"; }; then
        cp "$work/task.json" "$work/scene.json"
        lowest=$fps
    fi
}

call PUT "/v1/rooms/$room" "{\"host\":\"alice\",\"layout\":\"side-by-side\",\"outputs\":[{\"id\":\"cdn\",\"url\":\"$cdn\"}]}"
event "{\"type\":\"stream.published\",\"user\":\"alice\",\"role\":\"host\",\"url\":\"$live/alice\"}"
wait_for bypass
say "on air: alice alone, copied (bypass)"
cat <<TEXT

    play it:   ffplay $cdn
               ffplay $api/live/$room.flv

TEXT

"$bin/mixworker" probe "$cdn" --record "$out/program.flv" --json "$out/report.json" --contact-sheet "$out" \
    --scene "$work/scene.json" --expect-switches $((2 * rounds)) >"$out/report.txt" 2>"$work/probe.log" </dev/null &
probe=$!
sleep 4

for ((round = 1; round <= rounds; round++)); do
    say "round $round of $rounds: bob joins"
    event "{\"type\":\"stream.published\",\"user\":\"bob\",\"url\":\"$live/bob\"}"
    wait_for mix
    note_scene
    say "on air: alice and bob (mix)"
    sleep 3.$((RANDOM % 10))
    wait_for mix
    note_scene
    say "round $round of $rounds: bob leaves"
    event '{"type":"stream.unpublished","user":"bob"}'
    wait_for bypass
    say "on air: alice alone (bypass)"
    sleep 2.$((RANDOM % 10))
done

# --- judgement -------------------------------------------------------------------------------------------------------

say "judging what the viewer received"
kill -TERM "$probe"
verdict=0
wait "$probe" || verdict=$?
probe=
judged=1
cp "$work/task.json" "$work/scene.json" "$out"/
echo
cat "$out/report.txt" "$work/probe.log"
if [[ -n $lowest ]]; then
    cat <<TEXT
note: this machine was too busy for the full frame rate: the service reduced the mix to ${lowest%%.*} frames per second, as it does
      under load (task.json: degradation). Run the demo on an otherwise idle machine to see every frame.
TEXT
fi
echo
if [[ -f $out/report.json ]]; then
    echo "saved: ${out#"$PWD"/}/{contact-sheet.png,report.json,report.txt,program.flv,task.json,scene.json}"
fi
if [[ ${KEEP:-} == 1 ]]; then
    cat <<TEXT

Still running until Ctrl-C:
    play        $cdn
                $api/live/$room.flv
    bob joins   curl -d '{"type":"stream.published","user":"bob","url":"$live/bob"}' $api/v1/rooms/$room/events
    bob leaves  curl -d '{"type":"stream.unpublished","user":"bob"}' $api/v1/rooms/$room/events
    task        curl $api/v1/tasks/auto-$room
TEXT
    trap 'exit $verdict' INT TERM
    while :; do sleep 1; done
fi
exit "$verdict"
