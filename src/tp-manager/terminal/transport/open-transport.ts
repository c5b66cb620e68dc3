import type { Clock } from "../../../shared/time.ts";
import type { ByteTransport } from "./byte-transport.ts";
import { createSerialTransport, type SerialOptions } from "./serial-transport.ts";
import { createTcpTransport, parseTcpAddress } from "./tcp-transport.ts";

/** Makes the transport that a setting names: `tcp://host:port`, else the name of a serial port. */
export function createTransport(
  address: string,
  line: Omit<SerialOptions, "path">,
  clock: Clock,
): ByteTransport {
  const tcp = parseTcpAddress(address);
  if (tcp) return createTcpTransport(tcp, clock);
  if (address.startsWith("tcp:")) {
    throw new Error(`"${address}" is no TCP address; write it like tcp://192.168.1.20:20007`);
  }
  return createSerialTransport({ path: address, ...line });
}
