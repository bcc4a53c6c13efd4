# shellcheck shell=bash
# Sourced by the scripts that need Python packages: virtual environments with everything at exact versions.

# Makes the environment $1 with the packages of deploy/$2, once. A tree that was moved, another Python, or packages that
# cannot be imported (the statement $3), need it anew. Several processes may want it at the same time.
#
# $root and $build have to be set; fail says what went wrong, and ends the script.
# shellcheck disable=SC2154
make_venv() {
    local venv=$build/$1 wanted=$root/deploy/$2 lock
    mkdir -p "$build"
    exec {lock}>"$venv.lock"
    flock "$lock"
    if ! { cmp --quiet "$wanted" "$venv/requirements.txt" && "$venv/bin/python" -c "$3" 2>/dev/null; }; then
        command -v python3 >/dev/null || fail "python3 is missing: run deploy/setup.sh"
        rm -rf "$venv"
        python3 -m venv "$venv" || fail "python3 -m venv does not work: run deploy/setup.sh (package python3-venv)"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted" >&2 ||
            fail "pip could not install deploy/$2: see the messages above"
        cp "$wanted" "$venv/requirements.txt"
    fi
    exec {lock}>&-
}
