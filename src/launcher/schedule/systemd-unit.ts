import { exitCodes } from "../../shared/exit-codes.ts";
import { userName } from "../user-name.ts";
import { quoted } from "./crontab.ts";
import { dataArguments, refuseControlCharacters, runtimeFolder, scriptPath } from "./entry.ts";

const FILE = "/etc/systemd/system/terminal-connector.service";

/**
 * A unit that keeps both programs running, with the way to install it. systemd is told to restart
 * them whatever they end with, except on a configuration that no restart mends
 * (docs/design.md 9.5).
 */
export function systemdUnit(dataDirectory: string): string {
  const args = dataArguments(dataDirectory);
  const command = [scriptPath("launch"), "--foreground", ...args];
  const withData = (words: string): string => [words, ...args.map(quoted)].join(" ");
  const folder = runtimeFolder();
  refuseControlCharacters([...command, folder ?? ""]);
  const path = folder === undefined ? [] : [`${folder}:/usr/local/bin:/usr/bin:/bin`];
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
    ...path.map((value) => `Environment=${word(`PATH=${value}`)}`),
    `ExecStart=${command.map(word).join(" ")}`,
    "Restart=always",
    "RestartSec=5",
    `RestartPreventExitStatus=${exitCodes.configuration}`,
    "# Only the launcher is signalled: it stops both programs in order.",
    "KillMode=mixed",
    "TimeoutStopSec=120",
    "",
    "[Install]",
    "WantedBy=multi-user.target",
  ].join("\n");
}

/** systemd.service(5), "Command lines": %, $ and, within quotes, the backslash are special. */
function word(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}
