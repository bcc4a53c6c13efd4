#!/usr/bin/env bash
# Runs an S3-compatible storage in memory on 127.0.0.1, to try uploads (docs/upload.md) and to test them. It checks signatures;
# scripts/s3-server.py describes its other features. Installs moto's server into a virtual environment first, once.
#
#   scripts/s3-server.sh PORT ACCESS_KEY SECRET_KEY BUCKET…
#
# Environment: BUILD_DIR (.build), FAULTS (none).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")

fail() {
    printf 's3-server: %s\n' "$@" >&2
    exit 1
}

[ $# -ge 4 ] || fail "usage: scripts/s3-server.sh PORT ACCESS_KEY SECRET_KEY BUCKET…"
# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-s3 requirements-s3.txt 'import moto.s3.models, moto.iam.access_control, moto.moto_server.werkzeug_app'
exec "$build/venv-s3/bin/python" -W ignore "$root/scripts/s3-server.py" "$@"
