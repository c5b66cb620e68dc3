import type { SerialPort, SerialPortOpenOptions } from "serialport";

type AutoDetectTypes = typeof SerialPort.binding;
export type SerialPortOptions = Omit<SerialPortOpenOptions<AutoDetectTypes>, "autoOpen">;

/** The part of an open port that reads and writes the device; Windows has no `poller`. */
interface OpenDevice {
  fd: number | null;
  readonly poller?: { stop(): void };
  read(buffer: Buffer, offset: number, length: number): Promise<unknown>;
  write(buffer: Buffer): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a serial port. Rejects with the error of the package `serialport`, also if the package
 * cannot be loaded.
 */
export async function openSerialPort(options: SerialPortOptions): Promise<SerialPort> {
  // The package is loaded only here, because it has a native part that many uses do not need.
  const { SerialPort } = await import("serialport");
  const port = new SerialPort({ ...options, autoOpen: false });
  await new Promise<void>((resolve, reject) => {
    port.open((error) => (error ? reject(error) : resolve()));
  });
  finishBeforeClosing(port.port as unknown as OpenDevice);
  return port;
}

/**
 * Lets the port close only when each read and write that was begun is over. The package frees the
 * file number at once: a read or write that another thread still has to begin would then take bytes
 * from, or write bytes into, whatever was opened next under the same number.
 */
function finishBeforeClosing(device: OpenDevice): void {
  const { poller } = device;
  if (!poller) return;
  const [read, write, close] = [device.read, device.write, device.close];
  const running = new Set<Promise<unknown>>();
  const watch = <T>(operation: Promise<T>): Promise<T> => {
    const over = () => void running.delete(operation);
    running.add(operation);
    operation.then(over, over);
    return operation;
  };
  device.read = (...into) => watch(read.apply(device, into));
  device.write = (bytes) => watch(write.call(device, bytes));
  device.close = async () => {
    const { fd } = device;
    // Without a file number, what comes back from another thread ends instead of waiting for more.
    device.fd = null;
    poller.stop();
    await Promise.allSettled(running);
    device.fd = fd;
    await close.call(device);
  };
}
