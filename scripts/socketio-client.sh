#!/usr/bin/env bash
# Uses a service as apps do, with an unchanged Python client of Socket.IO: over polling, over a WebSocket, and with an upgrade from
# one to the other. Installs the clients first, once.
#
#   scripts/socketio-client.sh 4|3 URL
#
#   4        python-socketio 5 (Engine.IO 4)
#   3        python-socketio 4 (Engine.IO 3)
#
# Environment: BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")

fail() {
    printf 'socketio-client: %s\n' "$@" >&2
    exit 1
}

# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-socketio requirements-socketio.txt 'import socketio, socketio_v4'
exec "$build/venv-socketio/bin/python" -W ignore "$root/scripts/socketio-client.py" "$@"
