#!/usr/bin/env bash
# Runs PostgreSQL with a synchronous standby and three nodes on loopback, puts a room on air, kills its node, drains the next one, and
# kills the database's primary; `make cluster` runs it.
#
# Environment: KEEP=1 keeps running until Ctrl-C · BUILD_DIR (.build) · OUT (demo-out) · LEASE (10) seconds
# With KEEP=1 the database's primary is not killed.
# Exit status 0 only if the room was on air again after its node was killed, moved from its second node to the third while a viewer
# of the second node kept the connection, and stayed on air without a lost change while the standby became the primary.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
bin=${BIN:-$root/${BUILD_DIR:-.build}/debug}
[[ ${BUILD_DIR:-} == /* ]] && bin=${BIN:-$BUILD_DIR/debug}
out=${OUT:-$root/demo-out}
lease=${LEASE:-10}
room=demo

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

die() {
    echo "cluster: $*" >&2
    exit 1
}

for program in "$bin/mixworker" "$bin/mixorchestrator"; do
    [[ -x "$program" ]] || die "$program is missing: run \`make build\` first"
done
for program in curl ffmpeg jq; do
    command -v "$program" >/dev/null || die "$program is not installed: run deploy/setup.sh"
done
postgres=
for place in /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
    if [[ -x $place/initdb ]]; then postgres=$place; fi
done
[[ -n $postgres ]] || die "PostgreSQL's server is not installed: run deploy/setup.sh --cluster"

work=$(mktemp -d "${TMPDIR:-/tmp}/mix-cluster.XXXXXX")
mkdir -p "$out"
children=()
database=()
# Directories of the primary and of its standby.
pg=
standby=

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
    local index
    for ((index = ${#children[@]} - 1; index >= 0; index--)); do end "${children[index]}"; done
    local server
    for server in "$standby" "$pg"; do
        [[ -e $server/postmaster.pid ]] && "${database[@]}" -D "$server" -m immediate stop >/dev/null 2>&1
    done
    "$here/media-server.sh" stop "$work/nginx" >/dev/null 2>&1
    [[ $status == 0 ]] || cp "$work"/*.log "$out"/ 2>/dev/null
    rm -rf "$work" ${pg:+"$pg"} ${standby:+"$standby"}
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

free_port() {
    local port=$((20000 + RANDOM % 12000))
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((20000 + RANDOM % 12000)); done
    echo "$port"
}

# --- database --------------------------------------------------------------------------------------------------------

say "starting PostgreSQL with a synchronous standby"
as=()
if [[ $(id -u) != 0 ]]; then
    pg=$work/pg
    standby=$work/pg-standby
    mkdir -m 700 "$pg" "$standby"
else
    # PostgreSQL refuses to run as root, and its user may not enter the directory of another.
    pg=$(mktemp -d /var/tmp/mix-pg.XXXXXX)
    standby=$(mktemp -d /var/tmp/mix-pg.XXXXXX)
    owner=postgres
    id "$owner" >/dev/null 2>&1 || owner=nobody
    chown "$owner" "$pg" "$standby"
    as=(setpriv "--reuid=$owner" --clear-groups)
fi
"${as[@]}" "$postgres/initdb" -D "$pg" -U mix -E UTF8 --locale=C --auth=trust --no-sync >"$work/initdb.log" 2>&1 ||
    die "PostgreSQL's files cannot be made: $(tail -n 3 "$work/initdb.log")"
database=("${as[@]}" "$postgres/pg_ctl")

# Starts the server in a directory; returns when it accepts connections.
start_database() {
    local directory=$1 port=$2
    "${database[@]}" -D "$directory" -w -l "$directory/server.log" \
        -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$directory" start >"$work/pg_ctl.log" 2>&1 ||
        die "PostgreSQL does not start: $(tail -n 3 "$work/pg_ctl.log" "$directory/server.log")"
}

# Runs a statement on the server at a port.
sql() { "$postgres/psql" -X -q -t -A -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U mix -d postgres -c "$2"; }

db=$(free_port)
start_database "$pg" "$db"
"${as[@]}" "$postgres/pg_basebackup" -h 127.0.0.1 -p "$db" -U mix -D "$standby" -R -X stream -c fast >"$work/basebackup.log" 2>&1 ||
    die "the primary cannot be copied: $(tail -n 3 "$work/basebackup.log")"
db2=$(free_port)
start_database "$standby" "$db2"
# From here on, a change is acknowledged only when both servers have it. The standby was copied before, so it does not wait for a
# standby of its own when it becomes the primary.
sql "$db" "ALTER SYSTEM SET synchronous_standby_names = '*'"
sql "$db" 'SELECT pg_reload_conf()' >/dev/null
for _ in $(seq 400); do
    confirming=$(sql "$db" "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
    [[ $confirming == 1 ]] && break
    sleep 0.05
done
[[ $confirming == 1 ]] || die "the standby does not confirm changes: $(tail -n 3 "$standby/server.log")"
store="postgresql://mix@127.0.0.1:$db,127.0.0.1:$db2/postgres"

# --- servers and nodes -----------------------------------------------------------------------------------------------

say "starting the media server (nginx with RTMP)"
ports=$("$here/media-server.sh" start "$work/nginx")
rtmp=$(sed -n 's/^RTMP_PORT=//p' <<<"$ports")

declare -A url pid
start_node() {
    local name=$1 port
    port=$(free_port)
    url[$name]=http://127.0.0.1:$port
    # A copy for each node, which writes changes of layouts to it.
    [[ -d $work/layouts-$name ]] || cp -r "$root/layouts" "$work/layouts-$name"
    env "MIXORCHESTRATOR_STORE_URL=$store" "MIXORCHESTRATOR_NODE_URL=${url[$name]}" "MIXORCHESTRATOR_NODE_ID=$name" \
        "MIXORCHESTRATOR_NODE_LEASE_SECONDS=$lease" MIXORCHESTRATOR_ADMISSION_CORES=0 \
        "$bin/mixorchestrator" serve --listen "127.0.0.1:$port" --data "$work/data-$name" --layouts "$work/layouts-$name" \
        >>"$work/node-$name.log" 2>&1 </dev/null &
    pid[$name]=$!
    children+=("${pid[$name]}")
    for _ in $(seq 400); do
        kill -0 "${pid[$name]}" 2>/dev/null || die "node $name ended: $(tail -n 3 "$work/node-$name.log")"
        curl -fsS -o /dev/null "${url[$name]}/readyz" 2>/dev/null && return
        sleep 0.05
    done
    die "node $name does not answer: $(tail -n 3 "$work/node-$name.log")"
}

for name in a b c; do
    start_node "$name"
    say "node $name at ${url[$name]}"
done

"$bin/mixworker" publish "rtmp://127.0.0.1:$rtmp/live/alice" >"$work/publisher.log" 2>&1 </dev/null &
children+=($!)

call() {
    local method=$1 address=$2 body=${3:-} answer
    answer=$(curl -sS -X "$method" ${body:+-H 'Content-Type: application/json' -d "$body"} -w '\n%{http_code}' "$address")
    [[ ${answer##*$'\n'} == 2* ]] || die "$method $address: ${answer//$'\n'/ }"
    printf '%s\n' "${answer%$'\n'*}"
}

# The node whose relay has the room.
owner_of_room() {
    local name
    for name in a b c; do
        if pgrep -f "relay --task auto-$room --socket $work/data-$name/" >/dev/null; then echo "$name"; fi
    done
}

# Waits until the room is on air at a node other than the one named.
wait_for_other() {
    local former=$1 asked=$2 begin now
    begin=$(date +%s%3N)
    for _ in $(seq 600); do
        # The former one's relay may still be ending.
        now=$(owner_of_room | grep -vx "$former" | head -n 1 || true)
        if [[ -n $now ]] &&
            [[ $(curl -sS "${url[$asked]}/v1/tasks/auto-$room" 2>/dev/null | jq -r .onAir 2>/dev/null) == bypass ]]; then
            say "on air at node $now after $(($(date +%s%3N) - begin)) ms, as node $asked tells"
            return
        fi
        sleep 0.05
    done
    die "the room is not on air again; the messages of the nodes are in $out"
}

say "a room at node a, asked for at node b"
call PUT "${url[a]}/v1/rooms/$room" "{\"outputs\":[{\"id\":\"cdn\",\"url\":\"rtmp://127.0.0.1:$rtmp/cdn/$room\"}]}" >/dev/null
call POST "${url[b]}/v1/rooms/$room/events" \
    "{\"type\":\"stream.published\",\"user\":\"alice\",\"url\":\"rtmp://127.0.0.1:$rtmp/live/alice\",\"role\":\"host\"}" >/dev/null
wait_for_other none c

first=$(owner_of_room)
others=()
for name in a b c; do [[ $name == "$first" ]] || others+=("$name"); done

say "killing node $first and its relay, as the loss of its machine would"
relays=$(pgrep -f "$work/data-$first/" || true)
kill -KILL "${pid[$first]}" 2>/dev/null || true
wait "${pid[$first]}" 2>/dev/null || true
for relay in $relays; do kill -KILL "$relay" 2>/dev/null || true; done
env "MIXORCHESTRATOR_STORE_URL=$store" "$bin/mixorchestrator" store expel "$first" --data "$work/data-operator"
wait_for_other "$first" "${others[0]}"

second=$(owner_of_room)
third=${others[0]}
[[ $third == "$second" ]] && third=${others[1]}
"$bin/mixworker" probe "${url[$second]}/live/$room.flv" --json "$work/viewer.json" \
    >"$work/viewer.txt" 2>"$work/viewer.log" </dev/null &
viewer=$!
children+=("$viewer")
sleep 4
say "draining node $second, which has a viewer"
drained=$(call POST "${url[$second]}/v1/node/drain")
echo "  $drained"
[[ $(jq .moved <<<"$drained") == 1 ]] || die "the room did not move"
wait_for_other "$second" "$third"
sleep 4
kill -TERM "$viewer"
# Its own limits are those of a program that stays where it is.
wait "$viewer" || true
[[ -s $work/viewer.json ]] || die "the viewer's report is missing: $(tail -n 3 "$work/viewer.log")"
jq -r '"  the viewer: \(.connections) connection, \(.backwardTimestamps) timestamps back, longest step between two pictures " +
    "\(.videoIntervalsMs[2] | round) ms, " + (.sources[0] | "\(.lost) of \(.pictures) pictures lost, \(.repeated) repeated")' \
    "$work/viewer.json"
jq -e '.connections == 1 and .backwardTimestamps == 0' "$work/viewer.json" >/dev/null ||
    die "the viewer of node $second was disconnected, or saw time go back"

call GET "${url[$third]}/v1/nodes" | jq -r '.nodes[] | "  \(.name)  \(.state)  rooms: \(.rooms)  \(.url)"'
if [[ ${KEEP:-} == 1 ]]; then
    call DELETE "${url[$second]}/v1/node/drain" >/dev/null
    say "all of this runs until Ctrl-C. The room is at node $third, and any node answers. To try:"
    cat <<END
  watch in a browser     ${url[$second]}/watch/$room
  what is on air         curl ${url[$second]}/v1/tasks/auto-$room
  who has what           curl ${url[$second]}/v1/nodes
  move the room          curl -X POST ${url[$third]}/v1/node/drain
  let it come back       curl -X DELETE ${url[$third]}/v1/node/drain; curl -X POST ${url[$second]}/v1/node/drain
  lose node $third            kill -9 ${pid[$third]}; its relay stays on air for the lease, $lease s
  lose the database      ${database[*]} -D $pg -m immediate stop; programs stay on air for the lease
  use its standby        ${database[*]} -D $standby promote
END
    trap 'exit 0' INT TERM
    wait
fi

# The lease bounds the time for which programs stay on air without a database.
say "killing the database's primary and promoting its standby"
relay=$(pgrep -f "relay --task auto-$room --socket $work/data-$third/" || true)
[[ -n $relay ]] || die "node $third has no relay"

# Makes a room; prints the status.
make_room() {
    curl -sS -m 1 -o /dev/null -X PUT -H 'Content-Type: application/json' -d '{}' -w '%{http_code}' "${url[$third]}/v1/rooms/$1" \
        2>/dev/null || true
}

call PUT "${url[$third]}/v1/rooms/acknowledged" '{}' >/dev/null
"${database[@]}" -D "$pg" -m immediate stop >/dev/null || die "the primary does not stop: $(tail -n 3 "$pg/server.log")"
status=$(make_room refused)
[[ $status != 2* ]] || die "a change was acknowledged without a database"
"${database[@]}" -D "$standby" -w promote >/dev/null || die "the standby is not promoted: $(tail -n 3 "$standby/server.log")"
begin=$(date +%s%3N)
for _ in $(seq 200); do
    status=$(make_room later)
    [[ $status == 2* ]] && break
    sleep 0.05
done
[[ $status == 2* ]] || die "changes are still refused after the promotion: status $status"
say "changes are stored again $(($(date +%s%3N) - begin)) ms after the promotion"
# The node would answer from its memory.
[[ $(sql "$db2" "SELECT count(*) FROM rooms WHERE id = 'acknowledged'") == 1 ]] || die "an acknowledged change is lost"
[[ $(pgrep -f "relay --task auto-$room --socket $work/data-$third/" || true) == "$relay" ]] ||
    die "the program did not stay on air at node $third"
[[ $(call GET "${url[$third]}/v1/tasks/auto-$room" | jq -r .onAir) == bypass ]] || die "the program is not on air"
say "done"
