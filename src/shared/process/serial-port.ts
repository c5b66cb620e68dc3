import { read } from "node:fs";
import { promisify } from "node:util";
import type { SerialPort, SerialPortOpenOptions } from "serialport";

export type SerialPortOptions = Omit<SerialPortOpenOptions<typeof SerialPort.binding>, "autoOpen">;

export type OpenSerialPort = Awaited<ReturnType<typeof openSerialPort>>;

type UnixRead = typeof import("@serialport/bindings-cpp/dist/unix-read.js").unixRead;
type UnixDevice = Parameters<UnixRead>[0]["binding"];

/** Opens a port. Rejects with the error of the package `serialport`, also if this cannot load. */
export async function openSerialPort(options: SerialPortOptions) {
  // The packages are loaded only here, because they have a native part that many uses do not need.
  const { SerialPort } = await import("serialport");
  const { unixRead } = await import("@serialport/bindings-cpp/dist/unix-read.js");
  const port = new SerialPort({ ...options, autoOpen: false });
  await new Promise<void>((resolve, reject) => {
    port.open((error) => (error ? reject(error) : resolve()));
  });
  const device = port.port as UnixDevice;
  // On Windows a read ends only when the device is closed, so nothing is waited for there.
  const isUnix = process.platform !== "win32";
  const close = isUnix ? finishBeforeClosing(device, unixRead) : device.close;
  let closing: Promise<void> | undefined;
  device.close = () => {
    closing = close.call(device);
    return closing;
  };
  return {
    port,
    /** Closes the port unless that was done; resolves when other programs can open the device. */
    async close(): Promise<void> {
      if (port.isOpen) port.close(() => {});
      await closing?.catch(() => {});
    },
  };
}

/**
 * Returns a function that closes the device after each of its operations. The package frees the
 * number of the open file at once: an operation that another thread still has to begin would then
 * take bytes from, or write bytes into, whatever was opened next under the same number.
 */
function finishBeforeClosing(device: UnixDevice, unixRead: UnixRead): () => Promise<void> {
  const { write, update, flush, close } = device;
  const running = new Set<Promise<unknown>>();
  const watch = <T>(operation: Promise<T>): Promise<T> => {
    const over = () => void running.delete(operation);
    running.add(operation);
    operation.then(over, over);
    return operation;
  };
  device.read = (buffer, offset, length) =>
    watch(unixRead({ binding: device, buffer, offset, length, fsReadAsync: readUnlessHungUp }));
  device.write = (bytes) => watch(write.call(device, bytes));
  device.update = (options) => watch(update.call(device, options));
  device.flush = () => watch(flush.call(device));
  return async () => {
    const { fd } = device;
    try {
      // Without the number, what comes back from a thread ends instead of waiting for more.
      device.fd = null;
      device.poller.stop();
      await Promise.allSettled(running);
    } finally {
      device.fd = fd;
    }
    await close.call(device);
  };
}

/**
 * Reads from a device. Rejects if the line was hung up, as when a USB plug is pulled: the system
 * then reads zero bytes, and the package would read again without end.
 */
const readUnlessHungUp = (async (...from: Parameters<typeof readAsync>) => {
  const result = await readAsync(...from);
  if (result.bytesRead === 0) throw new Error("the line was hung up");
  return result;
}) as typeof readAsync;
const readAsync = promisify(read);
