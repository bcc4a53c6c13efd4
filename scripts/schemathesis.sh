#!/usr/bin/env bash
# Runs schemathesis with all checks against a real service on a free port of this machine, then looks at the service's
# metrics and ends it. Exits 0 only if it has no findings.
#
#   scripts/schemathesis.sh [open|tokens] [MIXORCHESTRATOR]
#
#   open     a service without tokens, as on a developer's machine
#   tokens   a service with two apps and tokens of several scopes; requests have a token with all scopes, and
#            schemathesis also checks that the service requires it
#
# Environment: ONLY, a regular expression of paths; SEED (1), EXAMPLES for each operation (15), PHASES (examples,coverage,fuzzing,stateful), TIME_LIMIT in
# seconds (700), BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mode=${1:-open}
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")
service=${2:-$build/debug/mixorchestrator}
seed=${SEED:-1}
examples=${EXAMPLES:-15}
phases=${PHASES:-examples,coverage,fuzzing,stateful}
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

# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"

# The apps of the service, a line of YAML each, and what requests of each app carry.
configure_apps() {
    local scopes='events, tasks, layouts, read' scope
    if [ "$mode" = open ]; then
        printf 'apps: [{ id: shop }]\n'
        return
    fi
    local default shop
    default=$(token)
    shop=$(token)
    printf 'Authorization: Bearer %s\n' "$default" >"$directory/default.header"
    printf 'Authorization: Bearer %s\n' "$shop" >"$directory/shop.header"
    printf 'apps:\n  - id: default\n    tokens:\n      - { token: %s, scopes: [%s] }\n' "$default" "$scopes"
    for scope in events tasks layouts read; do
        printf '      - { token: %s, scopes: [%s] }\n' "$(token)" "$scope"
    done
    printf '  - id: shop\n    tokens: [{ token: %s, scopes: [%s] }]\n' "$shop" "$scopes"
}

token() { "$venv/bin/python" -c 'import secrets; print(secrets.token_hex(16))'; }

# A port below those that the system gives to connections (32768 to 60999), so that none of them takes it before the service does.
free_port() {
    "$venv/bin/python" -c '
import random, socket
while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as candidate:
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break'
}

start() {
    directory=$(mktemp -d "${TMPDIR:-/tmp}/mix-st.XXXXXX")
    (umask 077 && : >"$directory/service.yaml")
    cp -r "$root/layouts" "$directory/layouts"
    : >"$directory/default.header"
    : >"$directory/shop.header"
    configure_apps >>"$directory/service.yaml"
    # Addresses where nobody listens: what schemathesis makes up goes nowhere. What else the machine does decides nothing. The rooms
    # that it makes up are mixed, and have little to do.
    printf '%s\n' 'sources: { allow: ["rtmp://127.0.0.1:1935"] }' 'outputs: { allow: ["rtmp://127.0.0.1:1935"] }' \
        'callbacks: { allow: ["http://127.0.0.1:1935"] }' 'relay: { orphanTimeout: 20 }' 'admission: { cores: 0 }' \
        'rooms: { outputs: [], canvas: { width: 160, height: 90, fps: 5, follows: none } }' \
        'http: { rate: { failures: 0 } }' 'thumbnails: { interval: 0 }' \
        'hooks: { nginx-rtmp: { secret: hook-secret-0123456789, url: "rtmp://127.0.0.1:1935/{app}/{name}" } }' >>"$directory/service.yaml"
    # With tokens there is no request without one, also where visitors may read otherwise.
    [ "$mode" = open ] || printf 'channel: { anonymousReading: false }\n' >>"$directory/service.yaml"
    port=$(free_port)
    "$service" serve --config "$directory/service.yaml" --listen "127.0.0.1:$port" --data "$directory/data" \
        --layouts "$directory/layouts" --log-format json >"$directory/log" 2>&1 &
    process=$!
    for _ in $(seq 600); do
        curl --silent --fail --output /dev/null "http://127.0.0.1:$port/readyz" && return
        kill -0 "$process" 2>/dev/null || fail "the service ended:" "$(tail -n 20 "$directory/log")"
        sleep 0.1
    done
    fail "the service is not ready: $(curl --silent "http://127.0.0.1:$port/readyz")" "$(tail -n 20 "$directory/log")"
}

# request APP PATH [CURL'S OPTION…]
request() {
    local app=$1 path=$2
    shift 2
    curl --silent --show-error --fail --header "@$directory/$app.header" "$@" "http://127.0.0.1:$port$path?app=$app"
}

# So that the examples of the document find what they name.
prepare() {
    local json='Content-Type: application/json' app
    for app in default shop; do
        request "$app" /v1/rooms/demo --output /dev/null --request PUT --header "$json" \
            --data "{\"layout\": \"score-board\", \"outputs\": [{\"id\": \"cdn\", \"url\": \"rtmp://127.0.0.1:1935/cdn/$app-demo\"}]}"
        request "$app" /v1/rooms/demo/events --output /dev/null --header "$json" \
            --data '{"type": "stream.published", "user": "alice", "url": "rtmp://127.0.0.1:1935/live/alice"}'
    done
    request default /v1/layouts/mine --output /dev/null --request PUT --header "$json" \
        --data '{"arrangements": [{"algorithm": "grid"}]}'
}

# The document as this service keeps to it: with tokens there is no request without one.
describe() {
    if [ "$mode" = open ]; then
        cp "$root/openapi.yaml" "$directory/openapi.yaml"
        cp "$root/deploy/schemathesis.toml" "$directory/schemathesis.toml"
        return
    fi
    sed 's/^\( *security: \[.*\), {}\]$/\1]/' "$root/openapi.yaml" >"$directory/openapi.yaml"
    # schemathesis reads the token from the environment, where no list of processes shows it.
    export TOKEN
    TOKEN=$(sed 's/^Authorization: Bearer //' "$directory/default.header")
    # shellcheck disable=SC2016
    { printf 'headers = { Authorization = "Bearer ${TOKEN}" }\n' && cat "$root/deploy/schemathesis.toml"; } \
        >"$directory/schemathesis.toml"
}

# Neither the log nor the metrics name a token.
look_for_tokens() {
    grep -oE '[0-9a-f]{32}' "$directory/service.yaml" >"$directory/tokens" || return 0
    ! grep --quiet --fixed-strings --file="$directory/tokens" "$directory/log" "$directory/metrics"
}

trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
case $mode in open | tokens) ;; *) fail "no mode '$mode': open or tokens" ;; esac
[ -x "$service" ] || fail "$service does not exist: run make build"
make_venv venv requirements-test.txt 'import schemathesis'
"$venv/bin/python" -m openapi_spec_validator "$root/openapi.yaml" || fail "openapi.yaml is not valid OpenAPI 3.1"
checks=(--checks all)
# Rooms of other apps are played by the same handlers.
checks+=(--exclude-path-regex '^/live/\{app\}')
[ -z "${ONLY:-}" ] || checks+=(--include-path-regex "$ONLY")
# Where no tokens are configured there is no authentication to ignore.
[ "$mode" = tokens ] || checks+=(--exclude-checks ignored_auth)
start
prepare
describe

status=0
printf 'schemathesis: %s, seed %s\n' "$mode" "$seed"
(
    cd "$directory"
    export PYTHONPATH=$root/deploy SCHEMATHESIS_HOOKS=schemathesis_hooks
    COLUMNS=140 NO_COLOR=1 timeout --kill-after=5 "${TIME_LIMIT:-700}" "$venv/bin/python" -m schemathesis.cli \
        --config-file "$directory/schemathesis.toml" run "$directory/openapi.yaml" --url "http://127.0.0.1:$port" \
        "${checks[@]}" --phases "$phases" --max-examples "$examples" --seed "$seed"
) || status=$?

kill -0 "$process" 2>/dev/null || fail "the service ended:" "$(tail -n 40 "$directory/log")"
request default /metrics --output "$directory/metrics" || status=1
"$venv/bin/python" "$root/scripts/check-metrics.py" <"$directory/metrics" || status=1
printf 'schemathesis: %s relays were started\n' "$(sed -n 's/^relay_starts_total //p' "$directory/metrics")"
look_for_tokens || { printf 'schemathesis: a token is in the log or in the metrics\n' >&2; status=1; }
# Every line of the log is one JSON object.
jq --exit-status --slurp 'all(type == "object" and has("time") and has("level") and has("message"))' \
    "$directory/log" >/dev/null || { printf 'schemathesis: the log is not JSON lines\n' >&2; status=1; }

kill -TERM "$process"
wait "$process" || { printf 'schemathesis: the service ended with status %s\n' "$?" >&2; status=1; }
process=''
[ "$status" = 0 ] || fail "$mode: found problems, see above; repeat with SEED=$seed scripts/schemathesis.sh $mode"
printf 'schemathesis: %s: nothing found\n' "$mode"
