#!/usr/bin/env bash
# Runs schemathesis with all checks against a real service on a free port of this machine, then looks at the service's
# metrics and ends it. Exit 0 only if nothing was found.
#
#   scripts/schemathesis.sh [open|tokens] [MIXORCHESTRATOR]
#
#   open     a service without tokens, as on a developer's machine
#   tokens   a service with tokens; schemathesis also looks whether they are asked for
#
# Environment: SEED (1), EXAMPLES for each operation (15), BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mode=${1:-open}
build=${BUILD_DIR:-$root/.build}
service=${2:-$build/debug/mixorchestrator}
seed=${SEED:-1}
examples=${EXAMPLES:-15}
venv=$build/venv
directory=''
process=''

fail() {
    printf 'schemathesis: %s\n' "$@" >&2
    exit 1
}

finish() {
    trap - EXIT
    [ -z "$process" ] || kill -KILL "$process" 2>/dev/null || true
    [ -z "$directory" ] || rm -rf "$directory"
}

# The same packages at the same versions, once.
install() {
    local wanted=$root/deploy/requirements-test.txt
    cmp --quiet "$wanted" "$venv/requirements.txt" && return
    command -v python3 >/dev/null || fail "python3 is missing: run deploy/setup.sh"
    rm -rf "$venv"
    python3 -m venv "$venv" || fail "python3 -m venv does not work: run deploy/setup.sh (package python3-venv)"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" ||
        fail "pip could not install deploy/requirements-test.txt: see its messages above"
    cp "$wanted" "$venv/requirements.txt"
}

start() {
    directory=$(mktemp -d "${TMPDIR:-/tmp}/mix-st.XXXXXX")
    cp -r "$root/layouts" "$directory/layouts"
    # Addresses where nobody listens: what schemathesis makes up goes nowhere.
    printf '%s\n' 'sources: { allow: ["rtmp://127.0.0.1:1935"] }' 'outputs: { allow: ["rtmp://127.0.0.1:1935"] }' \
        'rooms: { outputs: [] }' 'relay: { orphanTimeout: 20 }' >"$directory/service.yaml"
    port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$service" serve --config "$directory/service.yaml" --listen "127.0.0.1:$port" --data "$directory/data" \
        --layouts "$directory/layouts" --log-format json >"$directory/log" 2>&1 &
    process=$!
    for _ in $(seq 100); do
        curl --silent --fail --output /dev/null "http://127.0.0.1:$port/readyz" && return
        kill -0 "$process" 2>/dev/null || fail "the service ended:" "$(tail -n 20 "$directory/log")"
        sleep 0.1
    done
    fail "the service is not ready: $(curl --silent "http://127.0.0.1:$port/readyz")" "$(tail -n 20 "$directory/log")"
}

# So that the examples of the document find what they name.
prepare() {
    local room=http://127.0.0.1:$port/v1/rooms/demo
    curl --silent --fail --output /dev/null "${authorization[@]}" --request PUT "$room" \
        --header 'Content-Type: application/json' \
        --data '{"outputs": [{"id": "cdn", "url": "rtmp://127.0.0.1:1935/cdn/demo"}]}'
    curl --silent --fail --output /dev/null "${authorization[@]}" "$room/events" \
        --header 'Content-Type: application/json' \
        --data '{"type": "stream.published", "user": "alice", "url": "rtmp://127.0.0.1:1935/live/alice"}'
    curl --silent --fail --output /dev/null "${authorization[@]}" \
        --request PUT "http://127.0.0.1:$port/v1/layouts/mine" --header 'Content-Type: application/json' \
        --data '{"arrangements": [{"algorithm": "grid"}]}'
}

trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
[ -x "$service" ] || fail "$service is not there: run make build"
install
"$venv/bin/python" -m openapi_spec_validator "$root/openapi.yaml" || fail "openapi.yaml is no OpenAPI 3.1"
authorization=()
checks=(--checks all)
# Where no tokens are configured there is no authentication to ignore.
[ "$mode" = tokens ] || checks+=(--exclude-checks ignored_auth)
start
prepare

status=0
printf 'schemathesis: %s, seed %s\n' "$mode" "$seed"
(
    cd "$directory"
    COLUMNS=140 NO_COLOR=1 timeout --kill-after=5 400 "$venv/bin/schemathesis" \
        --config-file "$root/deploy/schemathesis.toml" run "http://127.0.0.1:$port/openapi.yaml" \
        "${checks[@]}" "${authorization[@]}" --max-examples "$examples" --seed "$seed"
) || status=$?

kill -0 "$process" 2>/dev/null || fail "the service ended:" "$(tail -n 40 "$directory/log")"
curl --silent --fail "${authorization[@]}" "http://127.0.0.1:$port/metrics" >"$directory/metrics" || status=1
"$venv/bin/python" "$root/scripts/check-metrics.py" <"$directory/metrics" || status=1
printf 'schemathesis: %s relays were started\n' "$(sed -n 's/^relay_starts_total //p' "$directory/metrics")"
# Every line of the log is one JSON object.
jq --exit-status --slurp 'all(type == "object" and has("time") and has("level") and has("message"))' \
    "$directory/log" >/dev/null || { printf 'schemathesis: the log is not JSON lines\n' >&2; status=1; }

kill -TERM "$process"
wait "$process" || { printf 'schemathesis: the service ended with status %s\n' "$?" >&2; status=1; }
process=''
[ "$status" = 0 ] || fail "$mode: found something, see above; repeat it with SEED=$seed scripts/schemathesis.sh $mode"
printf 'schemathesis: %s: nothing found\n' "$mode"
