#!/bin/sh
# Relaunches the connector when it is dead or hung; for cron: */2 * * * * /path/to/always-up.sh
set -eu

self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=${self%/*}/$link ;;
  esac
done
case $self in */*) ;; *) self=./$self ;; esac
exec "${self%/*}/launch.sh" keep-alive "$@"
