#!/usr/bin/env bash
# Checks the examples for Kubernetes and Patroni in deploy/: scripts/deployments.py describes the checks. Installs the schemas into a virtual
# environment first, once.
#
# Environment: BUILD_DIR (.build). Exit status 1 if an example has a fault, 2 if the schemas cannot be installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath --canonicalize-missing "${BUILD_DIR:-$root/.build}")

fail() {
    printf 'deployments: %s\n' "$@" >&2
    exit 2
}

# shellcheck source=scripts/venv.sh
. "$root/scripts/venv.sh"
make_venv venv-deploy requirements-deploy.txt 'import kubernetes_validate, patroni.validator'
exec "$build/venv-deploy/bin/python" -W ignore "$root/scripts/deployments.py" "${1:-$root/deploy}"
