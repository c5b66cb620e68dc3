import {
  type DeviceRoots,
  parseUsbAddress,
  systemRoots,
} from "../../../shared/config/serial-ports.ts";
import type { SerialPortOptions } from "../../../shared/process/serial-port.ts";
import type { Clock } from "../../../shared/time.ts";
import type { ByteTransport } from "./byte-transport.ts";
import { createSerialTransport } from "./serial-transport.ts";
import { createTcpTransport, parseTcpAddress } from "./tcp-transport.ts";

/** Returns the transport for `tcp://host:port`, `usb:vid:pid[:serial]` or a serial port's name. */
export function createTransport(
  address: string,
  line: Omit<SerialPortOptions, "path">,
  clock: Clock,
  roots: DeviceRoots = systemRoots,
): ByteTransport {
  const tcp = parseTcpAddress(address);
  if (tcp) return createTcpTransport(tcp.host, tcp.port, clock);
  if (address.startsWith("tcp:")) {
    throw new Error(`"${address}" is no TCP address; write it like tcp://192.168.1.20:20007`);
  }
  if (address.startsWith("usb:") && !parseUsbAddress(address)) {
    throw new Error(`"${address}" is no USB device; write it like usb:0403:6001:A50285BI`);
  }
  return createSerialTransport(address, line, roots);
}
