import { exitCodes } from "../../shared/process/exit-codes.ts";
import { installationRoot } from "../../shared/version-files.ts";
import { userName } from "../processes/system-tool.ts";
import { dataArguments, refuseControlCharacters, runtimeFolder, scriptPath } from "./entry.ts";
import { quoted } from "./schedule.ts";

const FILE = "/etc/systemd/system/terminal-connector.service";

/**
 * A unit that keeps both programs running, with the way to install it. systemd restarts them
 * after any exit code but that of a wrong configuration, which no restart mends
 * (docs/design.md 9.5).
 */
export function systemdUnit(dataDirectory: string): string {
  const args = dataArguments(dataDirectory);
  const command = [scriptPath("launch"), "--foreground", ...args];
  const withData = (line: string): string => [line, ...args.map(quoted)].join(" ");
  const folder = runtimeFolder();
  refuseControlCharacters([...command, folder ?? ""]);
  const search = folder === undefined ? [] : [`${folder}:/usr/local/bin:/usr/bin:/bin`];
  return [
    "# systemd keeps the connector running: use this or always-up.sh, never both.",
    `#   ${withData("./always-up.sh --uninstall")}; ${withData("./launch.sh stop")}`,
    `#   ${withData("./launch.sh systemd-unit")} | sudo tee ${FILE}`,
    "#   sudo systemctl daemon-reload",
    "#   sudo systemctl enable --now terminal-connector",
    "# Stop it with systemctl stop: what ./launch.sh stop ends, systemd starts again.",
    "# After a wrong configuration (exit code 78) it stays stopped: correct data/config.txt, then",
    "#   sudo systemctl restart terminal-connector",
    "",
    "[Unit]",
    "Description=Unattended terminal connector",
    "Wants=network-online.target",
    "After=network-online.target",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    // A number is good for a user that has no name.
    `User=${userName().replace(/^user /, "")}`,
    ...search.map((value) => `Environment=${unitText(`PATH=${value}`)}`),
    `ExecStart=${command.map(unitText).join(" ")}`,
    "Restart=always",
    "RestartSec=2",
    `RestartPreventExitStatus=${exitCodes.configuration}`,
    "# Only the launcher is signalled: it stops both programs in order.",
    "KillMode=mixed",
    "TimeoutStopSec=120",
    "# The launcher reports every 30 seconds that both programs answer; one that hangs is ended.",
    "WatchdogSec=120",
    "WatchdogSignal=SIGTERM",
    "NotifyAccess=all",
    ...hardening(dataDirectory),
    "",
    "[Install]",
    "WantedBy=multi-user.target",
  ].join("\n");
}

/**
 * The rights that the programs do not need (systemd.exec(5), docs/design.md 9.5). Off have to stay:
 * MemoryDenyWriteExecute, because Node.js makes code; PrivateDevices and DevicePolicy, because a
 * port whose driver comes with its plug would stay shut; PrivateTmp, because the sockets of a data
 * folder with a long path are among the temporary files; RemoveIPC, because the kiosk's software
 * may be the same user's.
 */
function hardening(dataDirectory: string): string[] {
  const writable = [...new Set([installationRoot, dataDirectory])];
  return [
    "# No rights but to write into these folders, and to use devices and the network.",
    "UMask=0027",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    `ReadWritePaths=${writable.map(path).join(" ")} -/tmp -/var/tmp`,
    "PrivateMounts=yes",
    "ProtectProc=invisible",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "KeyringMode=private",
    "LockPersonality=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
  ];
}

/** systemd.exec(5): a path may be quoted; % is special in it. */
function path(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** systemd.service(5), "Command lines": %, $ and, within quotes, the backslash are special. */
function unitText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}
