#!/usr/bin/env bash
# Plays a stream for some seconds with FFmpeg's newer libraries, like a viewer who joins now, and prints one line of JSON about
# its pictures; scripts/play.py describes the fields. Installs the libraries first, once.
#
#   scripts/play.sh URL SECONDS
#   scripts/play.sh --install     # only installs the libraries, so that this does not disturb a measurement
#
# Environment: BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")

fail() {
    printf 'play: %s\n' "$@" >&2
    exit 1
}

[ "$*" = --install ] || [ $# = 2 ] || fail "usage: scripts/play.sh URL SECONDS" "       scripts/play.sh --install"
# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-player requirements-player.txt 'import av'
[ "$1" = --install ] && exit
exec "$build/venv-player/bin/python" "$root/scripts/play.py" "$@"
