#!/usr/bin/env bash
# Makes calls of the ApsaraVideo Live interface with Alibaba Cloud's own SDKs, unchanged: reads one JSON object per line and writes
# one for each; scripts/sdk-call.py describes their fields. Installs the SDKs first, once.
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

fail() {
    printf 'sdk-call: %s\n' "$@" >&2
    exit 1
}

# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-sdk requirements-sdk.txt 'import alibabacloud_tea_openapi, aliyunsdkcore'
exec "$venv/bin/python" -W ignore "$root/scripts/sdk-call.py" "$@"
