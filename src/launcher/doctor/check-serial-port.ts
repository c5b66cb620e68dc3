import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import {
  type DeviceRoots,
  isUsbDevice,
  listSerialPorts,
  parseUsbAddress,
  type SerialPortFound,
  systemRoots,
  usbAddress,
  usersOfDevice,
} from "../../shared/serial-ports.ts";
import { userName } from "../user-name.ts";
import { bad, type Finding, good } from "./finding.ts";

const CHECK = "serial port";

/** Whether SERIAL_PORT is there, may be opened, and is nobody else's. `ownPid`: tp-manager's. */
export async function checkSerialPort(
  address: string,
  ownPid: number | undefined,
  roots: DeviceRoots = systemRoots,
): Promise<Finding> {
  if (address.startsWith("tcp:")) return good(CHECK, `${address} is on the network`);
  const ports = process.platform === "linux" ? listSerialPorts(roots) : await listElsewhere();
  const wanted = parseUsbAddress(address);
  const fitting = ports.filter(({ path, usb }) =>
    wanted ? usb !== null && isUsbDevice(wanted, usb) : path === address,
  );
  const found = fitting[0];
  if (wanted && fitting.length > 1) {
    const todo = "add the serial number, or name one below /dev/serial/by-id";
    return bad(CHECK, `${address} fits ${inWords(fitting)}`, todo);
  }
  if (wanted && !found) return missing(address, ports);
  const path = found?.path ?? address;
  if (process.platform === "win32") {
    return found ? good(CHECK, inWords([found])) : missing(address, ports);
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return missing(address, ports);
  if (!stat.isCharacterDevice()) {
    return bad(CHECK, `${path} is no serial port`, `set SERIAL_PORT to one: ${inWords(ports)}`);
  }
  return (
    checkOpening(path, stat, ownPid) ?? good(CHECK, inWords([found ?? plain(path)]), hint(found))
  );
}

function checkOpening(path: string, stat: Stats, ownPid: number | undefined): Finding | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch {
    return bad(CHECK, `${userName()} may not open ${path}`, accessAdvice(path, stat.gid));
  }
  const other = usersOfDevice(path).find(({ pid }) => pid !== ownPid);
  if (!other) return undefined;
  const says = `${path} is in use by process ${other.pid} (${other.command})`;
  return bad(CHECK, says, "end that program: only one can talk to the terminal");
}

/** Who is in which group: by the system's list, and this process, which got its groups at login. */
interface Membership {
  readonly user: string;
  readonly groupFile: string;
  readonly processGroups: readonly number[];
}

export function accessAdvice(path: string, gid: number, who = membership()): string {
  const row = who.groupFile
    .split("\n")
    .map((line) => line.split(":"))
    .find(([, , id]) => id === String(gid));
  const [group = String(gid), , , members = ""] = row ?? [];
  if (members.split(",").includes(who.user) && !who.processGroups.includes(gid)) {
    return `${who.user} is in the group ${group} but logged in before: log out and in, or reboot`;
  }
  if (gid === 0)
    return `it belongs to root alone: sudo chgrp dialout ${path}; sudo chmod 660 ${path}`;
  return `sudo usermod -aG ${group} ${who.user}, then log out and in again, or reboot`;
}

function membership(): Membership {
  return {
    user: userName(),
    groupFile: readFileSync("/etc/group", "utf8"),
    processGroups: process.getgroups?.() ?? [],
  };
}

function missing(address: string, ports: readonly SerialPortFound[]): Finding {
  const todo =
    ports.length === 0
      ? "plug the terminal in and switch it on: this machine has no serial port at all"
      : `set SERIAL_PORT to one of ${inWords(ports)}`;
  return bad(CHECK, `${address} is not there`, todo);
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
function hint(found: SerialPortFound | undefined): string | null {
  if (!found?.usb || !/\/tty(USB|ACM)\d+$/.test(found.path)) return null;
  return `SERIAL_PORT=${usbAddress(found.usb)} would find it under any number`;
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
