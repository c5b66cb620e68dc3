#!/bin/sh
# Starts, stops and watches the connector: ./launch.sh --help. Finds the version to run and hands
# over to its launcher. This file never changes: versions/README.txt says what it relies on.
set -eu

case $0 in */*) self=$0 ;; *) self=./$0 ;; esac
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
root=$(cd -- "${self%/*}" && pwd)

# A version is whole when its folder has the mark "complete".
whole() {
  case $1 in '' | *[!0-9A-Za-z.+-]* | .*) return 1 ;; esac
  [ -f "$root/versions/$1/complete" ]
}

# The version that the first line of a file of one line names, when it is whole.
named() {
  version=
  [ -f "$root/$1" ] || return 1
  IFS= read -r version <"$root/$1" || return 1 # torn: a whole line ends with a line feed
  version=${version%"$(printf '\r')"}
  whole "$version"
}

newest() {
  version=
  # shellcheck disable=SC2012 # a name with other characters is no version
  for folder in $(cd -- "$root/versions" && ls -d -- */ 2>/dev/null | sort -V); do
    if whole "${folder%/}"; then version=${folder%/}; fi
  done
  [ -n "$version" ]
}

if ! named current && ! named previous && ! newest; then
  echo "launch.sh: no whole version in $root/versions: unpack the delivery again" >&2
  exit 69
fi
# shellcheck source=version/launch.sh
. "$root/versions/$version/launch.sh"
