import { connect, type Socket } from "node:net";
import { openSerialPort } from "../../../../src/shared/process/serial-port.ts";

/** The bytes of a register under test control, on a socket or on a serial line. */
export interface RegisterWire {
  readonly serial: boolean;
  write(bytes: Uint8Array): void;
  end(): Promise<void>;
  /** Passes on what comes, from now on. */
  listen(data: (bytes: Uint8Array) => void, closed: () => void): void;
}

export async function tcpWire(port: number, host = "127.0.0.1"): Promise<RegisterWire> {
  const socket = await connected(port, host);
  socket.on("error", () => {});
  return {
    serial: false,
    write: (bytes) => socket.write(bytes),
    end: () =>
      new Promise((resolve) => {
        if (socket.closed) resolve();
        else socket.once("close", () => resolve());
        socket.destroy();
      }),
    listen: (data, closed) => {
      socket.on("data", data);
      socket.once("close", closed);
    },
  };
}

/** Opens a pseudo-terminal as a program opens a serial port. */
export async function serialWire(path: string): Promise<RegisterWire> {
  const { port, close } = await openSerialPort({ path, baudRate: 115_200 });
  port.on("error", () => {});
  return {
    serial: true,
    write: (bytes) => {
      if (port.isOpen) port.write(Buffer.from(bytes));
    },
    end: close,
    listen: (data, closed) => {
      port.on("data", data);
      port.once("close", closed);
    },
  };
}

function connected(port: number, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true });
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
