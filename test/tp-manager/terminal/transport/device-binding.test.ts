import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findSerialPorts } from "../../../../src/shared/config/serial-ports.ts";
import { systemClock } from "../../../../src/shared/time.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import { fromHex } from "../../../../src/zvt/index.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { until } from "../../../support/programs/child-program.ts";
import { FakeMachine, type PluggedDevice } from "./fake-machine.ts";
import { openPtyLine, type PtyLine } from "./pty-line.ts";

const line = { baudRate: 9600, stopBits: 2 } as const;
const never = new AbortController().signal;
const listener = { data: () => {}, closed: () => {} };

async function ptyLine(): Promise<PtyLine> {
  const pty = await openPtyLine();
  onTestFinished(() => pty.unplug());
  return pty;
}

const terminal = (pty: PtyLine): PluggedDevice => ({
  vendorId: "0b00",
  productId: "0055",
  serial: "T-4711",
  product: "Payment Terminal",
  target: pty.path,
});
const printer = (pty: PtyLine): PluggedDevice => ({
  vendorId: "0403",
  productId: "6001",
  target: pty.path,
});

test("a USB device is found again under the number it has at each connect", async () => {
  const machine = new FakeMachine(temporaryFolder());
  const [terminalLine, printerLine] = [await ptyLine(), await ptyLine()];
  const received = { terminal: 0, printer: 0 };
  terminalLine.onData((bytes) => {
    received.terminal += bytes.length;
  });
  printerLine.onData((bytes) => {
    received.printer += bytes.length;
  });
  const transport = createTransport("usb:0B00:0055", line, systemClock, machine.roots);
  machine.plug("ttyUSB0", terminal(terminalLine));
  machine.plug("ttyUSB1", printer(printerLine));
  const first = await transport.open(listener, never);
  first.write(fromHex("0102"));
  await until("the first bytes", () => received.terminal === 2 || undefined);
  await first.close();
  // Both were unplugged and came back in the other order.
  machine.unplug("ttyUSB0", terminal(terminalLine));
  machine.unplug("ttyUSB1", printer(printerLine));
  machine.plug("ttyUSB0", printer(printerLine));
  machine.plug("ttyUSB1", terminal(terminalLine));
  const second = await transport.open(listener, never);
  second.write(fromHex("03"));
  await until("the later byte", () => received.terminal === 3 || undefined);
  await second.close();
  expect(received).toEqual({ terminal: 3, printer: 0 });
});

test("a link below /dev/serial/by-id is followed at each connect too", async () => {
  const machine = new FakeMachine(temporaryFolder());
  const pty = await ptyLine();
  const name = join(machine.roots.dev, "serial/by-id/usb-0b00_T-4711-if00-port0");
  const transport = createTransport(name, line, systemClock, machine.roots);
  machine.plug("ttyUSB0", terminal(pty));
  await (await transport.open(listener, never)).close();
  machine.unplug("ttyUSB0", terminal(pty));
  await expect(transport.open(listener, never)).rejects.toThrow(/^cannot open .*: No such file/);
  machine.plug("ttyUSB7", terminal(pty));
  await (await transport.open(listener, never)).close();
});

test("a device that is not plugged in is unreachable, in words", async () => {
  const machine = new FakeMachine(temporaryFolder());
  machine.plug("ttyUSB0", printer(await ptyLine()));
  for (const address of ["usb:0b00:0055", "usb:0403:6001:T-4711"]) {
    const transport = createTransport(address, line, systemClock, machine.roots);
    await expect(transport.open(listener, never)).rejects.toMatchObject({
      name: "TransportError",
      message: `no serial device ${address} is plugged in`,
    });
  }
});

test("between two devices of a kind nothing is guessed; a serial number decides", async () => {
  const machine = new FakeMachine(temporaryFolder());
  const pty = await ptyLine();
  machine.plug("ttyACM0", terminal(pty));
  machine.plug("ttyACM1", { ...terminal(await ptyLine()), serial: "T-4712" });
  const any = createTransport("usb:0b00:0055", line, systemClock, machine.roots);
  await expect(any.open(listener, never)).rejects.toMatchObject({
    name: "TransportError",
    message: expect.stringMatching(/fits 2 ports .*ttyACM0, .*ttyACM1\): add the serial number/),
  });
  const one = createTransport("usb:0b00:0055:T-4711", line, systemClock, machine.roots);
  await (await one.open(listener, never)).close();
});

test("the list of ports leaves out what is not there, and names what is", async () => {
  const machine = new FakeMachine(temporaryFolder());
  const { dev } = machine.roots;
  machine.buildIn("ttyS0", "4");
  machine.buildIn("ttyS1", "0");
  machine.plug("ttyUSB3", terminal(await ptyLine()));
  expect(await findSerialPorts(machine.roots, () => import("serialport"))).toEqual([
    { path: join(dev, "ttyS0"), usb: null, stableNames: [] },
    {
      path: join(dev, "ttyUSB3"),
      usb: {
        vendorId: "0b00",
        productId: "0055",
        serial: "T-4711",
        product: "Payment Terminal",
      },
      stableNames: [join(dev, "serial/by-id/usb-0b00_T-4711-if00-port0")],
    },
  ]);
});

test("an address that only looks like a USB device is refused before anything is opened", () => {
  expect(() => createTransport("usb:403:6001", line, systemClock)).toThrow(
    "write it like usb:0403:6001:A50285BI",
  );
});
