#!/usr/bin/env bash
# Makes calls of the ApsaraVideo Live interface with Alibaba Cloud's own SDKs, unchanged: one JSON object a line in, one
# out; scripts/sdk-call.py says what is in them. Installs the SDKs first, once.
#
#   SECRET=… scripts/sdk-call.sh new|legacy HOST:PORT ACCESS_KEY_ID
#
#   new      alibabacloud_live20161101, signs with ACS3-HMAC-SHA256
#   v1       the same, told to sign with HMAC-SHA1
#   legacy   aliyun-python-sdk-live, signs with HMAC-SHA1
#
# Environment: SECRET, SECURITY_TOKEN (of temporary credentials), BUILD_DIR (.build).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")
venv=$build/venv-sdk
wanted=$root/deploy/requirements-sdk.txt

fail() {
    printf 'sdk-call: %s\n' "$@" >&2
    exit 1
}

is_installed() {
    cmp --quiet "$wanted" "$venv/requirements.txt" &&
        "$venv/bin/python" -c 'import alibabacloud_tea_openapi, aliyunsdkcore' 2>/dev/null
}

install() {
    command -v python3 >/dev/null || fail "python3 is missing: run deploy/setup.sh"
    rm -rf "$venv"
    python3 -m venv "$venv" || fail "python3 -m venv does not work: run deploy/setup.sh (package python3-venv)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted" >&2 ||
        fail "pip could not install deploy/requirements-sdk.txt: see its messages above"
    cp "$wanted" "$venv/requirements.txt"
}

mkdir -p "$build"
# Tests may want it at the same time.
exec 9>"$build/venv-sdk.lock"
flock 9
is_installed || install
exec 9>&-
exec "$venv/bin/python" -W ignore "$root/scripts/sdk-call.py" "$@"
