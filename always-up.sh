#!/bin/sh
# Relaunches the connector when it is dead or hung; for cron: */2 * * * * /path/to/always-up.sh
set -eu

case $0 in */*) self=$0 ;; *) self=./$0 ;; esac
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
# Read in, not run, because another shell would cost as much as the check may.
set -- keep-alive "$@"
# shellcheck source=launch.sh
. "${self%/*}/launch.sh"
