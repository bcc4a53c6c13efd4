#!/usr/bin/env bash
# Tries a real OBS with the service's own RTMP server, and prints what it measured: OBS alone (bypass), OBS and a second
# publisher (mix, then bypass again), OBS that stops, and OBS with a stream key that fits no pattern. Exits 0 only if all of
# it works. OBS runs on a virtual display and renders without a GPU: it needs a core of its own at 1280x720.
#
#   scripts/try-obs.sh            # after `make build` and `apt-get install obs-studio xvfb`
#
# Environment: SIZE (1280x720), SAMPLE_RATE (48000), KBPS (2000), BUILD_DIR (.build), OUT: directory for the recording and logs.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")/debug
size=${SIZE:-1280x720}
rate=${SAMPLE_RATE:-48000}
kbps=${KBPS:-2000}
work=$(mktemp -d "${TMPDIR:-/tmp}/mix-obs.XXXXXX")
children=()

fail() { printf 'try-obs: %s\n' "$@" >&2 && exit 1; }

finish() {
    trap - EXIT
    for ((index = ${#children[@]} - 1; index >= 0; index--)); do kill "${children[index]}" 2>/dev/null || true; done
    wait
    [ -z "${OUT:-}" ] || { mkdir -p "$OUT" && cp "$work"/*.{log,flv} "$work"/data/relays/*.log "$OUT"/; } || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

start() { # NAME COMMAND…
    "${@:2}" >"$work/$1.log" 2>&1 </dev/null &
    children+=($!)
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Returns when the command succeeds, within 30 s, and prints how long that took.
within() { # WHAT COMMAND…
    local what=$1 begin=${EPOCHREALTIME/./}
    for _ in $(seq 300); do
        ! "${@:2}" >/dev/null 2>&1 || { printf '%s: %d ms\n' "$what" $(((${EPOCHREALTIME/./} - begin) / 1000)) && return; }
        sleep 0.1
    done
    fail "$what: not within 30 s" "$(tail -n 5 "$work/service.log")"
}

on_air() { [ "$(curl -fsS "$api/v1/tasks/auto-demo" | jq -r .onAir)" = "$1" ]; }
is_away() { ! curl -fsS "$api/v1/rooms/demo" | jq --exit-status '.participants[] | select(.user == "alice")'; }

# Sends OBS a request over obs-websocket, without authentication.
ask_obs() { # REQUEST [DATA]
    python3 - "$remote" "$@" <<'PYTHON'
import json, os, socket, sys
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
line.sendall(b"GET / HTTP/1.1\r\nHost: obs\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: obswebsocket.json\r\n\r\n")
request = {"requestType": sys.argv[2], "requestId": "1", "requestData": json.loads((sys.argv[3:] or ["{}"])[0])}
identify = {"rpcVersion": 1, "eventSubscriptions": 0}
answer = b""
for before, op, data in ((b"obsWebSocketVersion", 1, identify), (b"negotiatedRpcVersion", 6, request), (b"requestType", 0, None)):
    while before not in answer:
        answer += line.recv(65536) or sys.exit("OBS closed its remote control")
    body = json.dumps({"op": op, "d": data}).encode().ljust(126)  # From 126 bytes on, the length has two bytes.
    line.sendall(b"\x81\xfe" + len(body).to_bytes(2, "big") + bytes(4) + body)  # Masked with zeros.
sys.exit(b'"result":true' not in answer and answer.decode(errors="replace"))
PYTHON
}

[ "$(command -v obs Xvfb ffmpeg ffprobe curl jq python3 | wc -l)" = 7 ] ||
    fail "a program is missing: apt-get install obs-studio xvfb, and deploy/setup.sh"
[ -x "$bin/mixworker" ] || fail "$bin/mixworker does not exist: run make build"

rtmp=$(free_port) http=$(free_port) remote=$(free_port)
api=http://127.0.0.1:$http
start service env "MIXORCHESTRATOR_INGEST_RTMP_LISTEN=127.0.0.1:$rtmp" "$bin/mixorchestrator" serve \
    --listen "127.0.0.1:$http" --data "$work/data" --layouts "$root/layouts"
start display Xvfb -displayfd 1 -screen 0 1280x800x24 -nolisten tcp
ffmpeg -v error -f lavfi -i "testsrc2=size=$size:rate=30" -f lavfi -i "sine=sample_rate=$rate" -t 20 -c:v libx264 -preset ultrafast \
    -g 30 -pix_fmt yuv420p -c:a aac "$work/clip.mp4"
obs=$work/home/.config/obs-studio
mkdir -p "$obs/basic/profiles/try" "$obs/basic/scenes" "$work/run"
chmod 700 "$work/run"
# No wizard, no question before the stream starts; the remote control on a port of its own.
printf '%s\n' '[General]' FirstRun=true EnableAutoUpdates=false '[BasicWindow]' WarnBeforeStartingStream=false \
    '[OBSWebSocket]' FirstLoad=false ServerEnabled=true "ServerPort=$remote" AuthRequired=false >"$obs/global.ini"
printf '%s\n' '[General]' Name=try '[Output]' Mode=Advanced '[AdvOut]' Encoder=obs_x264 Track1Bitrate=160 '[Video]' \
    "BaseCX=${size%x*}" "BaseCY=${size#*x}" "OutputCX=${size%x*}" "OutputCY=${size#*x}" FPSCommon=30 '[Audio]' \
    "SampleRate=$rate" ChannelSetup=Stereo >"$obs/basic/profiles/try/basic.ini"
cat >"$obs/basic/profiles/try/streamEncoder.json" <<END
{"rate_control": "CBR", "bitrate": $kbps, "keyint_sec": 2, "preset": "ultrafast", "profile": "main", "x264opts": "bframes=2"}
END
service() { printf '{"server": "rtmp://127.0.0.1:%s/live", "key": "%s"}' "$rtmp" "$1"; }
printf '{"type": "rtmp_custom", "settings": %s}' "$(service demo__alice)" >"$obs/basic/profiles/try/service.json"
cat >"$obs/basic/scenes/try.json" <<END
{"name": "try", "current_scene": "Scene", "current_program_scene": "Scene", "scene_order": [{"name": "Scene"}], "sources": [
  {"id": "ffmpeg_source", "name": "Clip", "mixers": 255, "settings": {"local_file": "$work/clip.mp4", "looping": true}},
  {"id": "scene", "name": "Scene", "settings": {"items": [{"name": "Clip", "id": 1, "visible": true, "align": 5}]}}]}
END
within 'the service is ready' curl -fsS "$api/readyz"
within 'the display is ready' test -s "$work/display.log"
start obs env -u WAYLAND_DISPLAY HOME="$work/home" XDG_CONFIG_HOME="$work/home/.config" XDG_RUNTIME_DIR="$work/run" \
    DISPLAY=":$(head -n 1 "$work/display.log")" QT_QPA_PLATFORM=xcb LIBGL_ALWAYS_SOFTWARE=1 \
    obs --startstreaming --profile try --collection try --multi --disable-updater
within 'OBS starts and is on air alone (bypass)' on_air bypass
start recording curl -sSN "$api/live/demo.flv" -o "$work/program.flv"
sleep 6
start bob ffmpeg -v error -re -f lavfi -i "testsrc=size=$size:rate=30" -f lavfi -i sine=880 -c:v libx264 -preset ultrafast -g 60 \
    -bf 2 -pix_fmt yuv420p -c:a aac -f flv "rtmp://127.0.0.1:$rtmp/live/demo__bob"
within 'a second publisher starts, both are on air (mix)' on_air mix
sleep 8
kill -INT "${children[-1]}"
within 'it stops, OBS is on air alone again (bypass)' on_air bypass
sleep 4
ask_obs StopStream
within 'OBS stops, and its participant has left the room' is_away
ask_obs SetStreamServiceSettings "{\"streamServiceType\": \"rtmp_custom\", \"streamServiceSettings\": $(service nonsense)}"
ask_obs StartStream
within 'OBS logs the reason of a refusal' grep -F 'NetStream.Publish.BadName (the stream key is in no room' "$work/obs.log"
ffprobe -v error -show_entries stream=codec_name,profile,width,height,sample_rate,has_b_frames -of compact "$work/program.flv"
"$bin/mixworker" probe "$work/program.flv" 2>&1 | grep -E 'connection|video interval' || true
