import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import { type Finding, finding } from "../../shared/catalog/findings.ts";
import {
  type DeviceRoots,
  isUsbDevice,
  listSerialPorts,
  parseUsbAddress,
  type SerialPortFound,
  systemRoots,
  usbAddress,
  usersOfDevice,
} from "../../shared/config/serial-ports.ts";
import { userName } from "../processes/system-tool.ts";

/** Whether SERIAL_PORT is there, may be opened, and is nobody else's. `ownPid`: tp-manager's. */
export async function checkSerialPort(
  address: string,
  ownPid: number | undefined,
  roots: DeviceRoots = systemRoots,
): Promise<Finding> {
  if (address.startsWith("tcp:")) return finding("serial-network", { port: address });
  const ports = process.platform === "linux" ? listSerialPorts(roots) : await listElsewhere();
  const wanted = parseUsbAddress(address);
  const fitting = ports.filter(({ path, usb }) =>
    wanted ? usb !== null && isUsbDevice(wanted, usb) : path === address,
  );
  const found = fitting[0];
  if (wanted && fitting.length > 1) {
    return finding("serial-several", { address, ports: inWords(fitting) });
  }
  if (wanted && !found) return missing(address, ports);
  const path = found?.path ?? address;
  if (process.platform === "win32") {
    return found ? finding("serial-right", { port: inWords([found]) }) : missing(address, ports);
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return missing(address, ports);
  if (!stat.isCharacterDevice()) {
    return finding("serial-no-port", { port: path, ports: inWords(ports) });
  }
  return checkOpening(path, stat, ownPid) ?? usable(found ?? plain(path));
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

/** Who is in which group: by the system's list, and this process, which got its groups at login. */
interface Membership {
  readonly user: string;
  readonly groupFile: string;
  readonly processGroups: readonly number[];
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

function membership(): Membership {
  return {
    user: userName(),
    groupFile: readFileSync("/etc/group", "utf8"),
    processGroups: process.getgroups?.() ?? [],
  };
}

function missing(address: string, ports: readonly SerialPortFound[]): Finding {
  if (ports.length === 0) return finding("serial-none", { address });
  return finding("serial-missing", { address, ports: inWords(ports) });
}

function inWords(ports: readonly SerialPortFound[]): string {
  const words = ports.map(({ path, usb }) =>
    usb ? `${path} (${usbAddress(usb)}${usb.product ? `, ${usb.product}` : ""})` : path,
  );
  return words.join(" or ");
}

function plain(path: string): SerialPortFound {
  return { path, usb: null, stableNames: [] };
}

/** ttyUSB0 is whichever adapter was found first. */
function usable(found: SerialPortFound): Finding {
  const port = inWords([found]);
  const isNumbered = found.usb && /\/tty(USB|ACM)\d+$/.test(found.path);
  if (!found.usb || !isNumbered) return finding("serial-right", { port });
  return finding("serial-numbered", { port, address: usbAddress(found.usb) });
}

async function listElsewhere(): Promise<SerialPortFound[]> {
  const { SerialPort } = await import("serialport");
  return (await SerialPort.list()).map(({ path, vendorId, productId, serialNumber }) => ({
    path,
    usb:
      vendorId === undefined || productId === undefined
        ? null
        : { vendorId, productId, serial: serialNumber ?? null, product: null },
    stableNames: [],
  }));
}
