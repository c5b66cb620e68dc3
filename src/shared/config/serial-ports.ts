import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Holder, holdersOf } from "../process/open-files.ts";
import { readOr } from "../read-or.ts";

/** The folders in which Linux lists its devices; tests use other folders. */
export interface DeviceRoots {
  readonly sys: string;
  readonly dev: string;
}

export const systemRoots: DeviceRoots = { sys: "/sys", dev: "/dev" };

interface UsbIds {
  /** The vendor's USB id: four hexadecimal digits, lower case. */
  readonly vendorId: string;
  readonly productId: string;
  readonly serial: string | null;
}

export interface SerialPortInfo {
  readonly path: string;
  /** The USB device of the port; null: the port is built in. */
  readonly usb: (UsbIds & { readonly product: string | null }) | null;
  /** The port's paths below /dev/serial/by-id, which remain when Linux renumbers its ports. */
  readonly stableNames: readonly string[];
}

/** Reads `usb:0403:6001` or `usb:0403:6001:A50285BI`; undefined: the text has another form. */
export function parseUsbAddress(text: string): UsbIds | undefined {
  const match = /^usb:([0-9a-f]{4}):([0-9a-f]{4})(?::([^\s\p{Cc}]{1,126}))?$/iu.exec(text);
  const [, vendorId, productId, serial = null] = match ?? [];
  if (vendorId === undefined || productId === undefined) return undefined;
  return { vendorId: vendorId.toLowerCase(), productId: productId.toLowerCase(), serial };
}

export function usbAddress({ vendorId, productId, serial }: UsbIds): string {
  const plain = serial !== null && /^[^\s\p{Cc}]+$/u.test(serial);
  return `usb:${vendorId}:${productId}${plain ? `:${serial}` : ""}`;
}

/** Whether a device has the wanted ids, and the serial number if one is wanted. */
export function isUsbDevice(wanted: UsbIds, found: UsbIds): boolean {
  return (
    wanted.vendorId === found.vendorId.toLowerCase() &&
    wanted.productId === found.productId.toLowerCase() &&
    (wanted.serial === null || wanted.serial === found.serial)
  );
}

/** Returns this machine's serial ports; outside Linux the package that `load` loads lists them. */
export async function findSerialPorts(
  roots: DeviceRoots,
  load: () => Promise<typeof import("serialport")>,
): Promise<SerialPortInfo[]> {
  if (process.platform === "linux") return listSerialPorts(roots);
  const { SerialPort } = await load();
  return (await SerialPort.list()).map(({ path, vendorId, productId, serialNumber }) => {
    const hasIds = vendorId !== undefined && productId !== undefined;
    const usb = hasIds
      ? { vendorId, productId, serial: serialNumber ?? null, product: null }
      : null;
    return { path, usb, stableNames: [] };
  });
}

/** Returns the ports in /sys; small systems and containers lack udevadm for `SerialPort.list()`. */
function listSerialPorts(roots: DeviceRoots): SerialPortInfo[] {
  const tty = join(roots.sys, "class/tty");
  const names = stableNames(roots);
  return entriesOf(tty).flatMap((name) => {
    const path = join(roots.dev, name);
    const device = realPath(join(tty, name, "device"));
    // Consoles and pseudo-terminals have no device, and absent serial ports have the type 0.
    if (device === undefined || readLine(join(tty, name, "type")) === "0") return [];
    if (!existsSync(path)) return [];
    const real = realPath(path) ?? path;
    return [{ path, usb: usbOf(device), stableNames: names.get(real) ?? [] }];
  });
}

/** Returns the USB device of a port, which sysfs describes in a folder above the port's folder. */
function usbOf(device: string): SerialPortInfo["usb"] {
  for (let folder = device; folder !== dirname(folder); folder = dirname(folder)) {
    const vendorId = readLine(join(folder, "idVendor"));
    const productId = readLine(join(folder, "idProduct"));
    if (vendorId === undefined || productId === undefined) continue;
    return {
      vendorId,
      productId,
      serial: readLine(join(folder, "serial")) || null,
      product: readLine(join(folder, "product")) || null,
    };
  }
  return null;
}

function stableNames({ dev }: DeviceRoots): Map<string, string[]> {
  const folder = join(dev, "serial/by-id");
  const names = new Map<string, string[]>();
  for (const name of entriesOf(folder)) {
    const path = join(folder, name);
    const target = realPath(path);
    if (target !== undefined) names.set(target, [...(names.get(target) ?? []), path]);
  }
  return names;
}

const entriesOf = (folder: string): string[] => readOr([], () => readdirSync(folder).sort());

// Files of /proc and /sys disappear with their process or device; undefined is returned then.
const realPath = (path: string) => readOr(undefined, () => realpathSync(path));
const readLine = (path: string) => readOr(undefined, () => readFileSync(path, "utf8").trim());

/**
 * Returns the processes that have a device open: those of this user, or for root of all users. The
 * process at the far end of a pseudo-terminal is left out, because it acts as the device.
 */
export function usersOfDevice(path: string): Holder[] {
  const device = realPath(path);
  if (device === undefined) return [];
  return holdersOf([device]).filter(({ pid, open }) => {
    const masters = open.filter(({ target }) => target.endsWith("/ptmx"));
    return !masters.some(({ fd }) => ptyOf(`/proc/${pid}/fdinfo/${fd}`) === device);
  });
}

function ptyOf(fdinfo: string): string | undefined {
  const [, index] = /^tty-index:\s*(\d+)$/m.exec(readLine(fdinfo) ?? "") ?? [];
  return index === undefined ? undefined : `/dev/pts/${index}`;
}
