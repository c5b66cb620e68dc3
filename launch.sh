#!/bin/sh
# Starts, stops and watches the connector: ./launch.sh --help. Finds a Node runtime, installs what
# package-lock.json names when that is missing, and starts src/launcher.
set -eu

case $0 in */*) self=$0 ;; *) self=./$0 ;; esac
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
case $self in /*) root=${self%/*} ;; *) root=$PWD/${self%/*} ;; esac

# The pinned runtime, else the system's Node from 24.15 on, or a 22 from 22.22.2 on: the SQLite of an
# older one refuses our statements. A delivery has a launch.sh of its own.
find_runtime() {
  runtime=$root/node_modules/.bin/node
  if [ -x "$runtime" ] && [ ! -d "$runtime" ]; then return 0; fi
  runtime=$(command -v node) || { runtime=; return 1; }
  case $("$runtime" --version 2>/dev/null) in
    v22.22.[2-9]* | v22.2[3-9].* | v22.[3-9]?.*) return 0 ;;
    v24.1[5-9].* | v24.[2-9]?.* | v2[5-9].* | v[3-9]?.*) return 0 ;;
  esac
  runtime=
  return 1
}

installed() { [ -f "$root/node_modules/.package-lock.json" ]; }

# Asked only when package-lock.json is newer than npm's record of what it has installed.
dependencies_fit() {
  installed && find_runtime || return 1
  record=$root/node_modules/.package-lock.json
  [ -z "$(find "$root/package-lock.json" -newer "$record" 2>/dev/null)" ] ||
    "$runtime" "$root/src/launcher/dependencies.ts"
}

install_dependencies() {
  why=
  if ! command -v npm >/dev/null; then why='npm is missing'; fi
  node_major=$(node --version 2>/dev/null) || node_major=v0
  node_major=${node_major#v}
  if [ "${node_major%%.*}" -lt 20 ]; then why="Node ${node_major} is too old or missing"; fi
  if [ -n "$why" ]; then
    echo "launch.sh: the packages of package-lock.json are not installed, and $why." >&2
    echo "launch.sh: install Node 20 or newer with npm (nodejs.org), then run this again." >&2
    exit 69
  fi
  echo "Installing the packages of package-lock.json (npm ci); this takes a moment ..." >&2
  # npm warns that its own Node is too old for some packages (EBADENGINE), but the runtime is pinned.
  if ! (cd -- "$root" && npm ci --no-audit --no-fund --loglevel=error) >&2; then
    echo "launch.sh: npm ci has failed (see above). Is the network there?" >&2
    exit 69
  fi
}

# Help installs nothing: without a runtime the text comes from its catalogue.
help() {
  if find_runtime; then exec "$runtime" "$root/src/launcher/main.ts" --help; fi
  sed -n '/^  "usage": \[/,/^  \]/s/^    "\(.*\)",\{0,1\}$/\1/p' "$root/src/launcher/texts-en.json"
  exit 0
}

export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/data/compile-cache}"
case ${1:-start} in
  --help | -h) help ;;
  keep-alive) # cheap and unattended: never installs packages
    case ${2:-} in --install | --uninstall) installed || install_dependencies ;; esac
    ;;
  stop | status | doctor | systemd-unit) installed || install_dependencies ;;
  *) dependencies_fit || install_dependencies ;;
esac
if ! find_runtime; then
  echo "launch.sh: no Node runtime for this machine: run ./launch.sh, or install Node >= 24.15" >&2
  exit 69
fi
exec "$runtime" "$root/src/launcher/main.ts" "$@"
