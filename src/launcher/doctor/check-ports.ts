import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import { type Finding, finding } from "../../shared/catalog/findings.ts";
import { consolePortOf, portClashes } from "../../shared/config/schema.ts";
import {
  type DeviceRoots,
  findSerialPorts,
  isUsbDevice,
  parseUsbAddress,
  type SerialPortInfo,
  systemRoots,
  usbAddress,
  usersOfDevice,
} from "../../shared/config/serial-ports.ts";
import { listenFault, portHolder } from "../processes/network.ts";
import { type ProgramStates, reportOf } from "../processes/programs.ts";
import { userName } from "../processes/system-tool.ts";

/** Checks that LOCAL_PORT is free, or that our own tp-manager serves it. */
export async function checkLocalPort(port: number, states: ProgramStates): Promise<Finding> {
  const status = reportOf(states.tpManager);
  const own = status && "port" in status ? status.port : undefined;
  if (own === port) return finding("port-ours", { port });
  const fault = await loopbackFault(port);
  if (fault === "EADDRINUSE") return await heldPort("LOCAL_PORT", port, states);
  if (fault !== undefined) return finding("port-unusable", { port, detail: fault });
  if (own === undefined) return finding("port-free", { port });
  return finding("port-changed", { before: own, port });
}

type PortConfig = Parameters<typeof consolePortOf>[0] & Parameters<typeof portClashes>[0];

/**
 * Checks for each page with a port that tp-manager serves the page, or that the port is free. Two
 * equal ports are left out: the check of the setup file warns of them.
 */
export async function checkPages(config: PortConfig, states: ProgramStates): Promise<Finding[]> {
  const clashing = new Set<string>(portClashes(config).map(({ name }) => name));
  const asked = [
    { name: "console", setting: "CONSOLE_PORT", port: consolePortOf(config) ?? 0 },
    { name: "kiosk pages", setting: "KIOSK_PORT", port: config.KIOSK_PORT },
  ].filter(({ setting, port }) => port !== 0 && !clashing.has(setting));
  const status = reportOf(states.tpManager);
  const checks = asked.map(async ({ name, setting, port }) => {
    const page = status?.pages?.find((one) => one.name === name && one.port === port);
    const values = { setting, port };
    if (page?.fault === null) return finding("page-served", values);
    const fault = await loopbackFault(port);
    if (fault === "EADDRINUSE") return await heldPort(setting, port, states);
    const detail = fault ?? page?.fault;
    if (detail) return finding("page-missing", { ...values, detail });
    return finding(status ? "page-changed" : "page-free", values);
  });
  return await Promise.all(checks);
}

/** Returns the finding of a port that another process has, which is named if it is found. */
async function heldPort(setting: string, port: number, states: ProgramStates): Promise<Finding> {
  const kind = setting === "LOCAL_PORT" ? "port" : "page";
  const holder = await portHolder(port);
  const { tpManager, supervisor } = states;
  for (const own of [reportOf(tpManager), reportOf(supervisor)]) {
    if (own && own.pid === holder?.pid) {
      return finding("port-of-ours", { setting, port, program: own.program });
    }
  }
  const isSilent = tpManager.state === "silent";
  if (isSilent && (!holder || tpManager.pids.includes(holder.pid))) {
    return finding(`${kind}-in-use`, { setting, port });
  }
  if (!holder) return finding(`${kind}-taken`, { setting, port });
  const { pid, command: program } = holder;
  return finding(`${kind}-taken-by`, { setting, port, pid, program });
}

/** The error codes of an attempt to listen on an address that the machine does not have. */
const noAddress: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"]);

/** Returns why this process cannot listen on the port, as an error code; undefined: it can. */
async function loopbackFault(port: number): Promise<string | undefined> {
  const six = await listenFault("::1", port);
  return (await listenFault("127.0.0.1", port)) ?? (six && noAddress.has(six) ? undefined : six);
}

/** Checks that SERIAL_PORT exists and only tp-manager, whose pid is `ownPid`, has it open. */
export async function checkSerialPort(
  address: string,
  ownPid: number | undefined,
  roots: DeviceRoots = systemRoots,
): Promise<Finding> {
  if (address.startsWith("tcp:")) return finding("serial-network", { port: address });
  const ports = await findSerialPorts(roots, () => import("serialport"));
  const wanted = parseUsbAddress(address);
  const fitting = ports.filter(({ path, usb }) =>
    wanted ? usb !== null && isUsbDevice(wanted, usb) : path === address,
  );
  const found = fitting[0];
  if (wanted && fitting.length > 1) {
    return finding("serial-several", { address, ports: portNames(fitting) });
  }
  if (wanted && !found) return missing(address, ports);
  const path = found?.path ?? address;
  if (process.platform === "win32") {
    return found ? finding("serial-right", { port: portNames([found]) }) : missing(address, ports);
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return missing(address, ports);
  if (!stat.isCharacterDevice()) {
    return finding("serial-no-port", { port: path, ports: portNames(ports) });
  }
  return checkOpening(path, stat, ownPid) ?? usable(found ?? { path, usb: null, stableNames: [] });
}

function checkOpening(path: string, stat: Stats, ownPid: number | undefined): Finding | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch {
    return notAllowed(path, stat.gid);
  }
  const other = usersOfDevice(path).find(({ pid }) => pid !== ownPid);
  if (!other) return undefined;
  return finding("serial-in-use", { port: path, pid: other.pid, program: other.command });
}

export function notAllowed(port: string, gid: number, who = membership()): Finding {
  const row = who.groupFile
    .split("\n")
    .map((line) => line.split(":"))
    .find(([, , id]) => id === String(gid));
  const [group = String(gid), , , members = ""] = row ?? [];
  if (members.split(",").includes(who.user) && !who.processGroups.includes(gid)) {
    return finding("serial-log-in-again", { user: who.user, port, group });
  }
  if (gid === 0) return finding("serial-of-root", { user: who.user, port });
  return finding("serial-not-allowed", { user: who.user, port, group });
}

function membership() {
  return {
    user: userName(),
    groupFile: readFileSync("/etc/group", "utf8"),
    processGroups: process.getgroups?.() ?? [],
  };
}

function missing(address: string, ports: readonly SerialPortInfo[]): Finding {
  if (ports.length === 0) return finding("serial-none", { address });
  return finding("serial-missing", { address, ports: portNames(ports) });
}

function portNames(ports: readonly SerialPortInfo[]): string {
  const names = ports.map(({ path, usb }) =>
    usb ? `${path} (${usbAddress(usb)}${usb.product ? `, ${usb.product}` : ""})` : path,
  );
  return names.join(" or ");
}

/** Returns the finding for a usable port; warns if its name can change, as /dev/ttyUSB0 can. */
function usable(found: SerialPortInfo): Finding {
  const port = portNames([found]);
  const isNumbered = found.usb && /\/tty(USB|ACM)\d+$/.test(found.path);
  if (!found.usb || !isNumbered) return finding("serial-right", { port });
  return finding("serial-numbered", { port, address: usbAddress(found.usb) });
}
