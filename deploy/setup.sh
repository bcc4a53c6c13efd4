#!/usr/bin/env bash
# Installs the packages that the build, the demo and, with --tests, the tests need on Debian 12, and no others. Returns quickly if
# all are installed. Needs root or sudo only if a package is missing.
#
#   deploy/setup.sh            install missing packages
#   deploy/setup.sh --tests    also nginx, the browser for playback tests (290 MB), an RTSP server, a TURN server, and
#                              PostgreSQL's server; tests that need one that is missing, other than nginx, are skipped
#   deploy/setup.sh --nginx    also nginx with its RTMP module, for `make demo CDN=nginx`, benchmarks and fault tests
#   deploy/setup.sh --cluster  also nginx, and PostgreSQL's server, for `make cluster`
#   deploy/setup.sh --fonts    also fonts for names in other scripts, such as Chinese, Japanese and Korean, and for emoji (145 MB)
#   deploy/setup.sh --pages    also the packages for web pages as sources: Chromium, a virtual display and a sound server (400 MB)
#   deploy/setup.sh --check    only report missing packages; exit 1 if there are any
set -euo pipefail

# One line for each purpose.
packages=(
    # The start files and libraries of C and C++ that Swift's linker asks for.
    g++
    # Building: GStreamer's and SQLite's headers (GRDB links the system's SQLite), OpenSSL's for RTMPS, those of
    # PostgreSQL's client, and zlib's for pages.
    libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev libsqlite3-dev libssl-dev libpq-dev zlib1g-dev pkg-config make git
    # Running: TLS and its root certificates, and PostgreSQL's client, which is loaded even if the store is a file.
    libssl3 ca-certificates libpq5
    # Running: rtmp2src, rtmp2sink, avdec_h264, x264enc, avenc_aac and friends.
    gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly
    gstreamer1.0-libav gstreamer1.0-nice
    # Drawing: the font for which names and texts are measured, and the library that looks up fonts for characters.
    fonts-dejavu-core libfontconfig-dev
    # Publishers and viewers of the demo and of the tests.
    ffmpeg
    # The scripts; valgrind counts instructions for `make check`.
    curl jq procps valgrind
    # The tests of the HTTP interface: schemathesis, in a virtual environment of its own.
    python3 python3-venv
)
# The media server and CDN of tests, benchmarks, the cluster on loopback, and the demo with CDN=nginx.
nginx_packages=(nginx libnginx-mod-rtmp)
# Web pages as sources: the browser, its display, its sound server, and a tool that starts it as another user.
page_packages=(chromium xvfb pulseaudio gstreamer1.0-pulseaudio util-linux)
# The packages for pages, an RTSP server for pulls, a TURN server, and a database server; tests start these servers
# themselves.
test_packages=("${page_packages[@]}" gir1.2-gst-rtsp-server-1.0 python3-gi coturn postgresql)
# A service without such names does not need them.
font_packages=(fonts-noto-cjk fonts-noto-color-emoji fonts-noto-core)
oldest_swift=6.2

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_packages() {
    local package
    for package in "${packages[@]}"; do
        is_installed "$package" || printf '%s\n' "$package"
    done
}

check_swift() {
    command -v swift >/dev/null || fail \
        "the Swift toolchain is missing (no 'swift' in PATH)." \
        "Install Swift $oldest_swift or newer for Debian 12 from https://www.swift.org/install/linux/ and try again."
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1) || true
    [ -n "$version" ] || fail "'swift --version' does not work; its output is:" "$(swift --version 2>&1 || true)"
    [ "$(printf '%s\n%s\n' "$oldest_swift" "$version" | sort --version-sort | head -n 1)" = "$oldest_swift" ] ||
        fail "Swift $version is too old: $oldest_swift or newer is needed (https://www.swift.org/install/linux/)."
}

check_distribution() {
    local id='' version='' name=''
    if [ -r /etc/os-release ]; then
        # shellcheck disable=SC1091
        id=$(. /etc/os-release && printf '%s %s' "${ID:-}" "${ID_LIKE:-}")
        # shellcheck disable=SC1091
        version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
        # shellcheck disable=SC1091
        name=$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-}")
    fi
    case " $id " in
    *" debian "*) ;;
    *) fail "this is ${name:-an unknown system}, not Debian 12. Install the equivalents of these packages yourself:" \
        "$*" ;;
    esac
    [ "$version" = 12 ] || say "this is ${name:-not Debian 12}; only Debian 12 is tested, trying anyway."
}

# --- Without starting services -----------------------------------------------------------------------------------
# Debian starts a service when its package is installed. Tests and demo run their own nginx from their own directory, and
# the machine's port 80 is none of their business.
policy=/usr/sbin/policy-rc.d
kept_policy=''

forbid_service_starts() {
    kept_policy=$(mktemp)
    if [ -e "$policy" ]; then
        "${as_root[@]}" cp --preserve=all "$policy" "$kept_policy"
    else
        rm -f "$kept_policy"
    fi
    trap restore_service_starts EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
}

restore_service_starts() {
    if [ -e "$kept_policy" ]; then
        "${as_root[@]}" cp --preserve=all "$kept_policy" "$policy"
        "${as_root[@]}" rm -f "$kept_policy"
    else
        "${as_root[@]}" rm -f "$policy"
    fi
}

install_packages() {
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "packages are missing, and this is not root and sudo is not installed. As root, run:" \
                "apt-get install --no-install-recommends $*"
        as_root=(sudo)
        if ! [ -t 0 ]; then
            sudo -n true 2>/dev/null ||
                fail "packages are missing and sudo asks for a password, but there is no terminal. As root, run:" \
                    "apt-get install --no-install-recommends $*"
        fi
    fi
    local had_nginx=yes had_postgresql=yes
    is_installed nginx || had_nginx=no
    is_installed postgresql || had_postgresql=no

    say "installing $# Debian packages: $*"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120
        -o Acquire::Retries=3)
    "${apt[@]}" update </dev/null || fail "'apt-get update' failed: see the messages above."
    forbid_service_starts
    "${apt[@]}" install --yes --no-install-recommends "$@" </dev/null ||
        fail "'apt-get install' failed: see the messages above."

    if [ "$had_nginx" = no ] && is_installed nginx && [ -d /run/systemd/system ]; then
        # Nor shall it start with the machine.
        "${as_root[@]}" systemctl disable --quiet nginx.service || true
    fi
    if [ "$had_postgresql" = no ] && is_installed postgresql && [ -d /run/systemd/system ]; then
        "${as_root[@]}" systemctl disable --quiet postgresql.service || true
    fi
}

# In a process of its own, which allows services to start again when it ends.
install_missing() {
    local missing=() package
    for package in "$@"; do is_installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] || (install_packages "${missing[@]}")
}

# In a process of its own: that it cannot be installed is no reason not to run the other tests.
install_test_packages() {
    local missing=() package
    for package in "${test_packages[@]}"; do is_installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    (install_packages "${missing[@]}") || say "without ${missing[*]} the tests that need it are skipped"
}

# Before anything is installed: what is misspelt may have been meant to install nothing.
check_arguments() {
    case ${1:-} in
    '' | --tests | --nginx | --cluster | --fonts | --pages | --check) ;;
    -h | --help)
        sed -n 's/^#   //p' "$0"
        exit 0
        ;;
    *) fail "found $1; expected --tests, --nginx, --cluster, --fonts, --pages, --check, or --help." ;;
    esac
    [ $# -le 1 ] || fail "found $*; expected one option at a time."
}

main() {
    check_arguments "$@"
    command -v dpkg-query >/dev/null || check_distribution "${packages[@]}"
    local missing=()
    mapfile -t missing < <(missing_packages)
    if [ "${1:-}" = --check ]; then
        check_swift
        [ ${#missing[@]} -eq 0 ] || fail "missing packages: ${missing[*]}"
        exit 0
    fi
    if [ ${#missing[@]} -gt 0 ]; then
        check_distribution "${missing[@]}"
        install_packages "${missing[@]}"
        say "done"
    fi
    case ${1:-} in
    --tests | --nginx | --cluster) install_missing "${nginx_packages[@]}" ;;
    esac
    if [ "${1:-}" = --tests ]; then install_test_packages; fi
    if [ "${1:-}" = --cluster ]; then install_missing postgresql; fi
    if [ "${1:-}" = --fonts ]; then install_missing "${font_packages[@]}"; fi
    if [ "${1:-}" = --pages ]; then
        install_missing "${page_packages[@]}"
        say "web pages can be shown: set pages.enabled in the configuration (docs/pages.md)"
        exit 0
    fi
    check_swift
}

main "$@"
