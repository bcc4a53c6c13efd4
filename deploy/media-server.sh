#!/usr/bin/env bash
# Runs a private nginx with the RTMP module on loopback: the media server and the CDN of the demo and the tests.
#
#   media-server.sh start DIRECTORY [RTMP_PORT [HTTP_PORT]]   prints RTMP_PORT=… HTTP_PORT=… PID=… for `eval`
#   media-server.sh stop DIRECTORY
#   media-server.sh check                                     exit 1 if nginx or its module is not installed
#
# Needs no root, and writes only to DIRECTORY. If a port is omitted or 0, a free one is chosen.
set -euo pipefail

die() {
    echo "media-server: $*" >&2
    exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
    local port
    for _ in $(seq 100); do
        port=$((20000 + RANDOM % 12000))
        if ! listens "$port"; then
            echo "$port"
            return
        fi
    done
    die "no free port found between 20000 and 32000"
}

find_nginx() {
    local candidate
    for candidate in "$(command -v nginx || true)" /usr/sbin/nginx; do
        if [[ -x "$candidate" ]]; then
            echo "$candidate"
            return
        fi
    done
    die "nginx is not installed: run deploy/setup.sh --nginx"
}

find_module() {
    local candidate
    for candidate in /usr/lib/nginx/modules/ngx_rtmp_module.so /usr/share/nginx/modules/ngx_rtmp_module.so; do
        if [[ -f "$candidate" ]]; then
            echo "$candidate"
            return
        fi
    done
    die "nginx has no RTMP module: run deploy/setup.sh --nginx"
}

# Whether the process runs. One that has ended stays known until its parent, often a container's init, asks for it.
runs() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

alive() { [[ -f $1/nginx.pid ]] && runs "$(cat "$1/nginx.pid")"; }

# ends_within SECONDS PID: waits for the end of the process, and fails if it does not come in time.
ends_within() {
    local deadline=$((SECONDS + $1))
    while runs "$2"; do
        ((SECONDS <= deadline)) || return 1
        sleep 0.05
    done
}

# nginx goes into the background: it must not hold on to what our caller has open, or the caller, who may wait for the
# end of a pipe, waits as long as nginx lives.
launch() (
    local nginx=$1 directory=$2 descriptor
    for descriptor in /proc/self/fd/*; do
        descriptor=${descriptor##*/}
        if ((descriptor > 2)); then eval "exec $descriptor>&-"; fi
    done
    exec "$nginx" -p "$directory" -e "$directory/error.log" -c "$directory/nginx.conf"
)

start() {
    local directory=$1 wanted_rtmp=${2:-0} wanted_http=${3:-0} nginx module attempt rtmp http deadline
    mkdir -p "$directory/tmp"
    directory=$(cd "$directory" && pwd)
    alive "$directory" && die "already running in $directory"
    nginx=$(find_nginx)
    module=$(find_module)
    # A free port may be taken between choosing and listening, so chosen ports get several attempts.
    for attempt in 1 2 3 4 5; do
        rtmp=$wanted_rtmp
        http=$wanted_http
        [[ $rtmp == 0 ]] && rtmp=$(free_port)
        [[ $http == 0 ]] && http=$(free_port)
        sed -e "s|@MODULE@|load_module $module;|" -e "s|@DIRECTORY@|$directory|g" \
            -e "s|@RTMP_PORT@|$rtmp|g" -e "s|@HTTP_PORT@|$http|g" \
            "$here/nginx-rtmp.conf.in" >"$directory/nginx.conf"
        # As root nginx would give up its rights to a user who may not enter DIRECTORY.
        [[ $(id -u) == 0 ]] && sed -i '1i user root;' "$directory/nginx.conf"
        if launch "$nginx" "$directory" 2>"$directory/start.log"; then
            break
        fi
        if [[ $attempt == 5 || ($wanted_rtmp != 0 && $wanted_http != 0) ]]; then
            cat "$directory/start.log" >&2
            die "nginx does not start (ports $rtmp and $http)"
        fi
    done
    deadline=$((SECONDS + 20))
    until alive "$directory" && listens "$rtmp" && listens "$http"; do
        ((SECONDS <= deadline)) || die "nginx does not listen on $rtmp and $http; see $directory/error.log"
        sleep 0.05
    done
    printf 'RTMP_PORT=%s\nHTTP_PORT=%s\nPID=%s\n' "$rtmp" "$http" "$(cat "$directory/nginx.pid")"
}

stop() {
    local directory=$1 pid
    alive "$directory" || return 0
    pid=$(cat "$directory/nginx.pid")
    kill -TERM "$pid"
    ends_within 5 "$pid" && return
    kill -KILL "$pid" 2>/dev/null || true
    ends_within 5 "$pid" || die "nginx ($pid) does not end"
}

case "${1:-}" in
    start) [[ $# -ge 2 ]] || die "start needs a directory" && start "${@:2}" ;;
    stop) [[ $# -eq 2 ]] || die "stop needs a directory" && stop "$2" ;;
    check) find_nginx >/dev/null && find_module >/dev/null ;;
    *) die "usage: media-server.sh start DIRECTORY [RTMP_PORT [HTTP_PORT]] | stop DIRECTORY | check" ;;
esac
