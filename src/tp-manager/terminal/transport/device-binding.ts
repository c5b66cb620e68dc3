import {
  type DeviceRoots,
  isUsbDevice,
  listSerialPorts,
  parseUsbAddress,
  type UsbIds,
} from "../../../shared/config/serial-ports.ts";
import { TransportError } from "./byte-transport.ts";

/**
 * The path of the port that SERIAL_PORT means now. `usb:vid:pid[:serial]` names the device, not the
 * number the system gave it, so it is looked up at every connect; any other text is a path already.
 * Rejects with {@link TransportError} unless exactly one device fits.
 */
export async function locatePort(address: string, roots: DeviceRoots): Promise<string> {
  const wanted = parseUsbAddress(address);
  if (!wanted) return address;
  const fitting = (await usbPorts(roots)).filter(({ usb }) => isUsbDevice(wanted, usb));
  const [found, second] = fitting;
  if (!found) throw new TransportError("unreachable", `no serial device ${address} is plugged in`);
  if (!second) return found.path;
  // Never guessed: another device's line must not get a payment.
  const paths = fitting.map(({ path }) => path).join(", ");
  throw new TransportError(
    "unreachable",
    `${address} fits ${fitting.length} ports (${paths}): add the serial number, ` +
      "usb:vid:pid:serial, or use the path below /dev/serial/by-id",
  );
}

/**
 * The package for serial ports, and its machine code; a terminal on TCP needs neither. Rejects with
 * {@link TransportError}.
 */
export async function serialPorts(): Promise<typeof import("serialport")> {
  try {
    return await import("serialport");
  } catch (cause) {
    const message = `serial ports cannot be used here: ${(cause as Error).message}`;
    throw new TransportError("unreachable", message, { cause });
  }
}

async function usbPorts(roots: DeviceRoots): Promise<Array<{ path: string; usb: UsbIds }>> {
  if (process.platform === "linux") {
    return listSerialPorts(roots).flatMap(({ path, usb }) => (usb ? [{ path, usb }] : []));
  }
  const { SerialPort } = await serialPorts();
  return (await SerialPort.list()).flatMap(({ path, vendorId, productId, serialNumber }) =>
    vendorId === undefined || productId === undefined
      ? []
      : [{ path, usb: { vendorId, productId, serial: serialNumber ?? null } }],
  );
}
