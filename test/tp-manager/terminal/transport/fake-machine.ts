import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DeviceRoots } from "../../../../src/shared/config/serial-ports.ts";

export interface PluggedDevice {
  readonly vendorId: string;
  readonly productId: string;
  readonly serial?: string;
  readonly product?: string;
  /** What the device is: a pseudo-terminal of the test. */
  readonly target: string;
}

/** The /sys and /dev of a machine, laid out as Linux does for USB serial adapters. */
export class FakeMachine {
  readonly roots: DeviceRoots;

  constructor(folder: string) {
    this.roots = { sys: join(folder, "sys"), dev: join(folder, "dev") };
    mkdirSync(join(this.roots.sys, "class/tty"), { recursive: true });
    mkdirSync(join(this.roots.dev, "serial/by-id"), { recursive: true });
  }

  /** `name`: the number the system gives it this time, such as ttyUSB0. */
  plug(name: string, device: PluggedDevice): void {
    const { sys, dev } = this.roots;
    const usb = join(sys, `devices/pci0000:00/usb1/1-${name}`);
    const port = join(usb, `1-${name}:1.0`, name);
    mkdirSync(join(port, "tty", name), { recursive: true });
    writeFileSync(join(usb, "idVendor"), `${device.vendorId}\n`);
    writeFileSync(join(usb, "idProduct"), `${device.productId}\n`);
    if (device.serial !== undefined) writeFileSync(join(usb, "serial"), `${device.serial}\n`);
    if (device.product !== undefined) writeFileSync(join(usb, "product"), `${device.product}\n`);
    symlinkSync(port, join(port, "tty", name, "device"));
    symlinkSync(join(port, "tty", name), join(sys, "class/tty", name));
    symlinkSync(device.target, join(dev, name));
    symlinkSync(join(dev, name), this.#stableName(name, device));
  }

  unplug(name: string, device: PluggedDevice): void {
    const { sys, dev } = this.roots;
    rmSync(join(sys, `devices/pci0000:00/usb1/1-${name}`), { recursive: true });
    for (const path of [join(sys, "class/tty", name), join(dev, name)]) rmSync(path);
    rmSync(this.#stableName(name, device));
  }

  /** A port that is built in; `type` 0 is one that the driver only believes in. */
  buildIn(name: string, type: string): void {
    const { sys, dev } = this.roots;
    const device = join(sys, "devices/platform/serial8250");
    mkdirSync(join(device, "tty", name), { recursive: true });
    writeFileSync(join(device, "tty", name, "type"), `${type}\n`);
    symlinkSync(device, join(device, "tty", name, "device"));
    symlinkSync(join(device, "tty", name), join(sys, "class/tty", name));
    writeFileSync(join(dev, name), "");
  }

  #stableName(name: string, { vendorId, serial = name }: PluggedDevice): string {
    return join(this.roots.dev, "serial/by-id", `usb-${vendorId}_${serial}-if00-port0`);
  }
}
