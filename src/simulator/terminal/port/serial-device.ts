import type { SerialPort } from "serialport";
import type { SerialDevice } from "../options.ts";
import type { BytePort, BytePortHandlers } from "./byte-port.ts";

/** A real serial device, without handshake. */
export class SerialDevicePort implements BytePort {
  readonly name: string;
  readonly #port: SerialPort;

  private constructor(port: SerialPort) {
    this.name = `serial ${port.path}`;
    this.#port = port;
  }

  static async open(device: SerialDevice): Promise<SerialDevicePort> {
    // Loaded only where it is needed: the package brings a native part.
    const { SerialPort } = await import("serialport");
    return await new Promise((resolve, reject) => {
      const port = new SerialPort(device, (error) =>
        error ? reject(error) : resolve(new SerialDevicePort(port)),
      );
    });
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#port.on("data", data);
    this.#port.once("close", closed);
    this.#port.on("error", () => this.close());
  }

  write(bytes: Uint8Array): void {
    if (this.#port.isOpen) this.#port.write(Buffer.from(bytes));
  }

  setSpeed(baudRate: number): void {
    if (this.#port.isOpen) this.#port.update({ baudRate });
  }

  close(): void {
    if (this.#port.isOpen) this.#port.close();
  }
}
