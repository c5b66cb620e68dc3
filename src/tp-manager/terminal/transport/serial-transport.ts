import {
  type DeviceRoots,
  findSerialPorts,
  isUsbDevice,
  parseUsbAddress,
} from "../../../shared/config/serial-ports.ts";
import {
  type OpenSerialPort,
  openSerialPort,
  type SerialPortOptions,
} from "../../../shared/process/serial-port.ts";
import {
  type ByteConnection,
  type ByteTransport,
  TransportError,
  type TransportListener,
} from "./byte-transport.ts";

/**
 * Returns a serial port's transport, without handshake (docs/zvt.md 2.1; docs/concert.md 2.1).
 * `address`: the port as SERIAL_PORT names it, such as `/dev/ttyUSB0`, `COM8` or `usb:0403:6001`;
 * `roots`: the folders of the operating system in which USB devices are looked up.
 */
export function createSerialTransport(
  address: string,
  line: Omit<SerialPortOptions, "path">,
  roots: DeviceRoots,
): ByteTransport {
  return {
    kind: "serial",
    address,
    async open(listener, signal) {
      signal.throwIfAborted();
      const path = await locatePort(address, roots);
      const open = await openPort({ dataBits: 8, parity: "none", ...line, path });
      if (signal.aborted) {
        await open.close();
        throw signal.reason;
      }
      return serialConnection(open, path, listener);
    },
  };
}

/** Opens a port and discards what it received before. Rejects with {@link TransportError}. */
async function openPort(options: SerialPortOptions): Promise<OpenSerialPort> {
  await serialPorts();
  try {
    const open = await openSerialPort(options);
    // Bytes that arrived before the port was opened belong to no open connection.
    await new Promise<void>((resolve) => open.port.flush(() => resolve()));
    return open;
  } catch (error) {
    const cause = error as Error;
    const { path } = options;
    // Only the text of the error shows whether the port is in use or does not exist.
    const refused = /permission|access denied|EACCES|EPERM|lock|busy/i.test(cause.message);
    const reason = cause.message.replace(/^Error: |, cannot open .*$/g, "");
    const message = refused
      ? `may not open ${path}: ${reason} (is another program using it? ` +
        "is the user in the group dialout?)"
      : `cannot open ${path}: ${reason}`;
    throw new TransportError(message, { cause });
  }
}

function serialConnection(
  open: OpenSerialPort,
  path: string,
  listener: TransportListener,
): ByteConnection {
  const { port } = open;
  /** Resolves when the port is free again; undefined while the connection is in use. */
  let closing: Promise<void> | undefined;
  const broke = (cause: Error | null): void => {
    if (closing !== undefined) return;
    closing = open.close();
    const why = cause ? `: ${cause.message}` : "";
    listener.closed(new TransportError(`${path} went away${why}`, cause ? { cause } : {}));
  };
  port.on("data", (bytes: Uint8Array) => {
    if (closing === undefined) listener.data(bytes);
  });
  port.on("error", broke);
  port.on("close", (cause: Error | null | undefined) => broke(cause ?? null));
  return {
    write(bytes) {
      // A closed port would keep the bytes and send them later; a payment must fail instead.
      if (closing !== undefined || !port.isOpen) {
        throw new TransportError(`${path} is not open`);
      }
      port.write(Buffer.from(bytes), (error) => {
        if (error) broke(error);
      });
    },
    close() {
      closing ??= open.close().then(() => listener.closed(null));
      return closing;
    },
  };
}

/**
 * Returns the path that SERIAL_PORT names. `usb:vid:pid[:serial]` is looked up at every connect, as
 * its port can change. Rejects with {@link TransportError} unless exactly one device matches.
 */
async function locatePort(address: string, roots: DeviceRoots): Promise<string> {
  const wanted = parseUsbAddress(address);
  if (!wanted) return address;
  const all = await findSerialPorts(roots, serialPorts);
  const ports = all.filter(({ usb }) => usb !== null && isUsbDevice(wanted, usb));
  const [found, second] = ports;
  if (!found) throw new TransportError(`no serial device ${address} is plugged in`);
  if (!second) return found.path;
  // No port is guessed: a guess could send a payment to another device.
  const paths = ports.map(({ path }) => path).join(", ");
  throw new TransportError(
    `${address} fits ${ports.length} ports (${paths}): add the serial number, ` +
      "usb:vid:pid:serial, or use the path below /dev/serial/by-id",
  );
}

/** Loads the library of serial ports only when it is needed. Throws {@link TransportError}. */
async function serialPorts(): Promise<typeof import("serialport")> {
  try {
    return await import("serialport");
  } catch (cause) {
    const message = `serial ports cannot be used here: ${(cause as Error).message}`;
    throw new TransportError(message, { cause });
  }
}
