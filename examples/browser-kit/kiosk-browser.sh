#!/bin/sh
# Shows the kiosk's own pages (KIOSK_APP) in Chromium, and again whenever it has ended or the
# connector was started anew: then the old page's session is over, and a fresh ticket is needed.
# usage: kiosk-browser.sh /path/of/the/connector
set -u
connector=${1:?"the connector's folder is missing"}
chromium=${CHROMIUM:-chromium}
profile=${PROFILE:-$HOME/.kiosk-browser}
# Other users can read a command line: the ticket stands in a file that only this user can read.
umask 077
mkdir -p "$profile"
page=$profile/start.html
rm -f "$page"

# Before there is a browser: a signal that comes while it starts has to end it too.
trap 'kill ${!:-} 2>/dev/null; exit 0' INT TERM
started() { cat "$connector/data/run/kiosk-started" 2>/dev/null; }

while :; do
  if ! address=$("$connector/launch.sh" kiosk); then
    sleep 5
    continue
  fi
  now=$(started)
  printf '<meta http-equiv="refresh" content="0;url=%s">\n' "$address" >"$page" || exit 1
  # The ticket is good once and for a minute; it stays in no history.
  "$chromium" --kiosk --no-first-run --disable-session-crashed-bubble --disable-pinch \
    --overscroll-history-navigation=0 --user-data-dir="$profile" "file://$page" &
  browser=$!
  while kill -0 "$browser" 2>/dev/null && [ "$(started)" = "$now" ]; do sleep 2; done
  kill "$browser" 2>/dev/null
  wait "$browser" 2>/dev/null
  sleep 1
done
