#!/usr/bin/env bash
# Shows the service at work on real streams and measures every switch from the viewer's side; `make demo` runs it.
#
# Publishers publish to the service's own RTMP server. The program is also pushed to that server, under another stream key, and
# the viewer plays it from there: the server stands for a CDN. With CDN=nginx, a local nginx replaces the server in both roles,
# and the script reports the events.
#
# Environment: KEEP=1 keeps running until Ctrl-C · ROUNDS (3) joins and leaves · CDN (ingest) · BUILD_DIR (.build) · OUT (demo-out)
# Exit status 0 only if every switch is within its limits and no client had to reconnect.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
bin=${BIN:-$root/${BUILD_DIR:-.build}/debug}
[[ ${BUILD_DIR:-} == /* ]] && bin=${BIN:-$BUILD_DIR/debug}
out=${OUT:-$root/demo-out}
rounds=${ROUNDS:-3}
cdn_kind=${CDN:-ingest}
room=demo

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

die() {
    echo "demo: $*" >&2
    exit 1
}

[[ $cdn_kind == ingest || $cdn_kind == nginx ]] || die "CDN=$cdn_kind: expected ingest or nginx"
for program in "$bin/mixworker" "$bin/mixorchestrator"; do
    [[ -x "$program" ]] || die "$program is missing: run \`make build\` first"
done
for program in curl ffmpeg jq; do
    command -v "$program" >/dev/null || die "$program is not installed: run deploy/setup.sh"
done

if [[ $cdn_kind == nginx ]]; then
    "$here/media-server.sh" check 2>/dev/null ||
        die "CDN=nginx needs nginx with its RTMP module: run \`deploy/setup.sh --nginx\`, or leave out CDN=nginx"
fi

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

# shellcheck disable=SC2317,SC2329  # a trap calls it
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
    if [[ $cdn_kind == nginx ]]; then "$here/media-server.sh" stop "$work/nginx"; fi
    [[ $status == 0 ]] || cp "$work"/*.log "$work"/data/{relays,ingest}/*.log "$out"/ 2>/dev/null
    rm -rf "$work"
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

# --- service, servers, publishers ------------------------------------------------------------------------------------

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The service's own server is for the publishers and the viewer; with nginx it is off.
ingest=()
if [[ $cdn_kind == nginx ]]; then
    say "starting the media server (nginx with RTMP)"
    ports=$("$here/media-server.sh" start "$work/nginx")
    rtmp=$(sed -n 's/^RTMP_PORT=//p' <<<"$ports")
    stat=http://127.0.0.1:$(sed -n 's/^HTTP_PORT=//p' <<<"$ports")/stat
    prefix=rtmp://127.0.0.1:$rtmp/live/
    cdn=rtmp://127.0.0.1:$rtmp/cdn/$room
fi

for attempt in 1 2 3; do
    http=$((32000 + RANDOM % 8000))
    if [[ $cdn_kind == ingest ]]; then
        rtmp=$((20000 + RANDOM % 12000))
        while listens "$rtmp"; do rtmp=$((20000 + RANDOM % 12000)); done
        ingest=("MIXORCHESTRATOR_INGEST_RTMP_LISTEN=127.0.0.1:$rtmp" MIXORCHESTRATOR_INGEST_PLAY=on
            MIXORCHESTRATOR_WEBRTC_WHIP=on MIXORCHESTRATOR_WEBRTC_WHEP=on)
    fi
    say "starting the service on port $http${ingest:+, its RTMP server on port $rtmp}"
    start mixorchestrator env "${ingest[@]}" "$bin/mixorchestrator" serve --listen "127.0.0.1:$http" \
        --data "$work/data" --layouts "$root/layouts"
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
if [[ $cdn_kind == ingest ]]; then
    for _ in $(seq 200); do
        grep -q "RTMP ingest on " "$work/mixorchestrator.log" && break
        sleep 0.05
    done
    grep -q "RTMP ingest on " "$work/mixorchestrator.log" || die "the service's RTMP server does not listen"
    prefix=rtmp://127.0.0.1:$rtmp/live/${room}__
    # A stream key like any other.
    cdn=rtmp://127.0.0.1:$rtmp/live/cdn__$room
fi

publish() {
    local name=$1
    shift
    start "publisher-$name" "$bin/mixworker" publish "$prefix$name" "$@"
}

# Waits until nginx has the publisher.
wait_for_publisher() {
    for _ in $(seq 200); do
        kill -0 "${children[-1]}" 2>/dev/null || die "publisher $1 ended: $(tail -n 3 "$work/publisher-$1.log")"
        curl -fsS "$stat" 2>/dev/null | grep -q "<name>$1</name>" && return
        sleep 0.05
    done
    die "publisher $1 cannot reach the media server"
}

# --- room ------------------------------------------------------------------------------------------------------------

call() {
    local method=$1 path=$2 body=${3:-} answer
    answer=$(curl -sS -X "$method" ${body:+-H 'Content-Type: application/json' -d "$body"} -w '\n%{http_code}' "$api$path")
    [[ ${answer##*$'\n'} == 2* ]] || die "$method $path: ${answer//$'\n'/ }"
}

event() { call POST "/v1/rooms/$room/events" "$1"; }

# With the service's own server, publishing is the event.
bob_joins() {
    if [[ $cdn_kind == nginx ]]; then
        event "{\"type\":\"stream.published\",\"user\":\"bob\",\"url\":\"${prefix}bob\"}"
    else
        publish bob --id 2 --gop 1 --person Bob
    fi
}

bob_leaves() {
    if [[ $cdn_kind == nginx ]]; then
        event '{"type":"stream.unpublished","user":"bob"}'
    else
        end "${children[-1]}"
    fi
}

wait_for() {
    local wanted=$1
    for _ in $(seq 240); do
        curl -sS -o "$work/task.json" "$api/v1/tasks/auto-$room"
        if grep -Eq "\"onAir\" ?: ?\"$wanted\"" "$work/task.json"; then return; fi
        sleep 0.05
    done
    die "the program is not $wanted within 12 s: $(head -c 600 "$work/task.json")"
}

# A value of the program's only output.
output_is() { jq -r ".outputs[0].$1" "$work/task.json"; }

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

# The room under whose stream key the program is pushed needs no program of its own.
[[ $cdn_kind == nginx ]] || call PUT /v1/rooms/cdn '{"outputs":[]}'
call PUT "/v1/rooms/$room" "{\"host\":\"alice\",\"layout\":\"auto\",\"outputs\":[{\"id\":\"cdn\",\"url\":\"$cdn\"}]}"
say "starting the publishers: alice (host, 720x1280@20) and bob (guest)"
publish alice --id 1 --person Alice
if [[ $cdn_kind == nginx ]]; then
    wait_for_publisher alice
    publish bob --id 2 --gop 1 --person Bob
    wait_for_publisher bob
    event "{\"type\":\"stream.published\",\"user\":\"alice\",\"role\":\"host\",\"url\":\"${prefix}alice\"}"
fi
wait_for bypass
for _ in $(seq 100); do
    [[ $(output_is state) == live ]] && break
    sleep 0.05
    wait_for bypass
done
say "on air: alice alone, copied (bypass)"
cat <<TEXT

    play it:   ffplay $cdn
               ffplay $api/live/$room.flv
    watch it:  $api/watch/$room
    steer it:  $api/console
TEXT
[[ $cdn_kind == nginx ]] || echo "    join it:   $api/publish/$room, in a browser on this machine"
echo

"$bin/mixworker" probe "$cdn" --record "$out/program.flv" --json "$out/report.json" --contact-sheet "$out" \
    --people --scene "$work/scene.json" --plot "$out/plot.svg" --expect-switches $((2 * rounds)) \
    >"$out/report.txt" 2>"$work/probe.log" </dev/null &
probe=$!
sleep 4

for ((round = 1; round <= rounds; round++)); do
    say "round $round of $rounds: bob joins"
    bob_joins
    wait_for mix
    note_scene
    say "on air: alice and bob (mix)"
    sleep 3.$((RANDOM % 10))
    wait_for mix
    note_scene
    say "round $round of $rounds: bob leaves"
    bob_leaves
    wait_for bypass
    say "on air: alice alone (bypass)"
    sleep 2.$((RANDOM % 10))
done

# --- judgement -------------------------------------------------------------------------------------------------------

say "judging what the viewer received"
wait_for bypass
kill -TERM "$probe"
verdict=0
wait "$probe" || verdict=$?
probe=
judged=1
cp "$work/task.json" "$work/scene.json" "$out"/
echo
cat "$out/report.txt" "$work/probe.log"
# A server may keep its viewers while the program's connection is made again.
again=$(output_is reconnects)
echo "the program's connection to its destination: $again reconnects"
[[ $again == 0 ]] || verdict=1
if [[ -n $lowest ]]; then
    cat <<TEXT
note: this machine was too busy for the full frame rate: the service reduced the mix to ${lowest%%.*} frames per second, as it does
      under load (task.json: degradation). Run the demo on an otherwise idle machine to see every frame.
TEXT
fi
echo
if [[ -f $out/report.json ]]; then
    echo "saved: ${out#"$PWD"/}/{contact-sheet.png,plot.svg,report.json,report.txt,program.flv,task.json,scene.json}"
fi
if [[ ${KEEP:-} == 1 ]]; then
    cat <<TEXT

Still running until Ctrl-C:
    play        $cdn
                $api/live/$room.flv
    watch       $api/watch/$room
    steer       $api/console
    task        curl $api/v1/tasks/auto-$room
TEXT
    if [[ $cdn_kind == nginx ]]; then
        cat <<TEXT
    bob joins   curl -d '{"type":"stream.published","user":"bob","url":"${prefix}bob"}' $api/v1/rooms/$room/events
    bob leaves  curl -d '{"type":"stream.unpublished","user":"bob"}' $api/v1/rooms/$room/events
TEXT
    else
        cat <<TEXT
    bob joins   $bin/mixworker publish ${prefix}bob --id 2 --person Bob, or OBS: server ${prefix%/*}, stream key ${prefix##*/}bob
    bob leaves  end that program
TEXT
    fi
    trap 'exit $verdict' INT TERM
    while :; do sleep 1; done
fi
exit "$verdict"
