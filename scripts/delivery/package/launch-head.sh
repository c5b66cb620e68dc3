# In a package this file is root's, and versions and data are the service user's (docs/packages.md).
case $(id -un) in
  root)
    if [ -d /run/systemd/system ]; then
      case ${1:-start} in
        start | restart) exec systemctl "${1:-start}" terminal-connector ;;
        stop) systemctl stop terminal-connector ;;
      esac
    fi
    exec runuser -u terminal-connector -- "$0" "$@"
    ;;
  terminal-connector) ;;
  *)
    echo "terminal-connector: run this as root, such as: sudo terminal-connector ${1:-status}" >&2
    exit 69
    ;;
esac
case ${1:-} in
  keep-alive | systemd-unit)
    echo "terminal-connector: the package has a unit: sudo systemctl enable --now terminal-connector" >&2
    exit 64
    ;;
esac
export CONNECTOR_COMMAND="sudo terminal-connector"
root=/var/lib/terminal-connector
