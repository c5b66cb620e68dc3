# shellcheck shell=sh disable=SC2154
# Read in by the launch.sh at the root of the delivery, which has set root and version. The runtime
# is the one that the file "runtime" names.
IFS= read -r runtime <"$root/versions/$version/runtime"
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/data/compile-cache}"
exec "$root/runtimes/$runtime/node" "$root/versions/$version/programs/launcher.js" "$@"
