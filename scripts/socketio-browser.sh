#!/usr/bin/env bash
# Prints the path of socket.io.min.js: Socket.IO's own client for browsers, version 4.8.1 (MIT licence). It is extracted once from
# a package of PyPI that contains it.
#
#   scripts/socketio-browser.sh
#
# Environment: BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")
package=nicegui==3.18.0
member=nicegui/static/socket.io.min.js
sum=b0e735814f8dcfecd6cdb8a7ce95a297a7e1e5f2727a29e6f5901801d52fa0c5

fail() {
    printf 'socketio-browser: %s\n' "$@" >&2
    exit 1
}

# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-socketio requirements-socketio.txt 'import socketio, socketio_v4'
file=$build/venv-socketio/socket.io.min.js
if ! sha256sum --check --status <<<"$sum  $file" 2>/dev/null; then
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    "$build/venv-socketio/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$directory" \
        "$package" >&2 || fail "pip could not download $package: see the messages above"
    python3 -m zipfile -e "$directory"/*.whl "$directory/wheel"
    sha256sum --check --status <<<"$sum  $directory/wheel/$member" || fail "$package carries another client than expected"
    mv "$directory/wheel/$member" "$file"
fi
printf '%s\n' "$file"
