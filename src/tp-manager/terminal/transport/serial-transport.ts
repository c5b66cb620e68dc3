import type { SerialPort } from "serialport";
import type { DeviceRoots } from "../../../shared/config/serial-ports.ts";
import {
  type ByteConnection,
  type ByteTransport,
  TransportError,
  type TransportListener,
} from "./byte-transport.ts";
import { locatePort, serialPorts } from "./device-binding.ts";

export interface SerialOptions {
  /** `/dev/ttyUSB0`, `COM8`, `usb:0403:6001`. */
  readonly path: string;
  readonly baudRate: number;
  readonly stopBits: 1 | 2;
  /** 8 where missing. */
  readonly dataBits?: 7 | 8;
  /** None where missing. */
  readonly parity?: "even" | "none";
  /** Where USB devices are looked up. */
  readonly roots: DeviceRoots;
}

/** Raw bytes over a serial port, no handshake (docs/zvt.md 2.1; docs/concert.md 2.1). */
export function createSerialTransport(options: SerialOptions): ByteTransport {
  const { path: address, baudRate, stopBits, dataBits = 8, parity = "none", roots } = options;
  return {
    kind: "serial",
    address,
    async open(listener, signal) {
      signal.throwIfAborted();
      const path = await locatePort(address, roots);
      const { SerialPort } = await serialPorts();
      const port = new SerialPort({
        path,
        baudRate,
        stopBits,
        dataBits,
        parity,
        autoOpen: false,
      });
      await opened(port, path);
      if (signal.aborted) {
        await closed(port);
        throw signal.reason;
      }
      return serialConnection(port, path, listener);
    },
  };
}

function opened(port: SerialPort, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    port.open((cause) => {
      // Bytes that arrived before this connection are no part of it.
      if (!cause) return port.flush(() => resolve());
      // The driver of the port tells the two apart only in its text.
      const refused = /permission|access denied|EACCES|EPERM|lock|busy/i.test(cause.message);
      const words = cause.message.replace(/^Error: |, cannot open .*$/g, "");
      const message = refused
        ? `may not open ${path}: ${words} (is another program using it? ` +
          "is the user in the group dialout?)"
        : `cannot open ${path}: ${words}`;
      reject(new TransportError(refused ? "refused" : "unreachable", message, { cause }));
    });
  });
}

function closed(port: SerialPort): Promise<void> {
  return new Promise((resolve) => port.close(() => resolve()));
}

function serialConnection(
  port: SerialPort,
  path: string,
  listener: TransportListener,
): ByteConnection {
  let open = true;
  let told = false;
  let closing: Promise<void> | undefined;
  const tell = (problem: TransportError | null): void => {
    open = false;
    if (told) return;
    told = true;
    listener.closed(problem);
  };
  const broke = (cause: Error | null): void => {
    if (closing !== undefined) return;
    const why = cause ? `: ${cause.message}` : "";
    tell(new TransportError("broken", `${path} went away${why}`, cause ? { cause } : {}));
    if (port.isOpen) closing = closed(port);
  };
  port.on("data", (bytes: Uint8Array) => {
    if (open) listener.data(bytes);
  });
  port.on("error", broke);
  port.on("close", (cause: Error | null | undefined) => broke(cause ?? null));
  return {
    write(bytes) {
      // The stream of the port would keep the bytes until it opens; a payment must fail instead.
      if (!open || !port.isOpen) throw new TransportError("not-open", `${path} is not open`);
      port.write(Buffer.from(bytes), (error) => {
        if (error) broke(error);
      });
    },
    async close() {
      if (closing === undefined) {
        open = false;
        closing = port.isOpen ? closed(port) : Promise.resolve();
      }
      await closing;
      tell(null);
    },
  };
}
