import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkSerialPort, notAllowed } from "../../../src/launcher/doctor/check-ports.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startProcess } from "../../support/programs/own-processes.ts";
import { FakeMachine } from "../../tp-manager/terminal/transport/fake-machine.ts";
import { openPtyLine } from "../../tp-manager/terminal/transport/pty-line.ts";

/** The pseudo-terminal's far end belongs to this process, which stands for tp-manager. */
const own = process.pid;

async function machine() {
  const fake = new FakeMachine(temporaryFolder());
  const pty = await openPtyLine();
  onTestFinished(() => pty.unplug());
  const device = { vendorId: "0b00", productId: "0055", serial: "T-1", target: pty.path };
  fake.plug("ttyUSB0", device);
  return { fake, path: join(fake.roots.dev, "ttyUSB0"), pty };
}

test("a port that exists is good, with a name that survives renumbering", async () => {
  const { fake, path } = await machine();
  const says = `The serial port ${path} (usb:0b00:0055:T-1) exists`;
  const found = { verdict: "ok", says: expect.stringContaining(says) };
  expect(await checkSerialPort(path, own, fake.roots)).toMatchObject({
    ...found,
    todo: "Set SERIAL_PORT=usb:0b00:0055:T-1: this address finds the device under any number.",
  });
  expect(await checkSerialPort("usb:0b00:0055", own, fake.roots)).toMatchObject(found);
});

test("a port that does not exist is a failure that names the ports that do", async () => {
  const { fake, path } = await machine();
  for (const address of [join(fake.roots.dev, "ttyUSB9"), "usb:0b00:0056"]) {
    expect(await checkSerialPort(address, own, fake.roots)).toMatchObject({
      verdict: "fail",
      says: `The serial port ${address} is not there, but other ports are.`,
      todo: expect.stringContaining(`to one of ${path} (usb:0b00:0055:T-1)`),
    });
  }
  const bare = new FakeMachine(temporaryFolder());
  expect((await checkSerialPort("/dev/ttyUSB9", own, bare.roots)).todo).toContain(
    "Connect the terminal's cable",
  );
});

/** It inherits the far end that belongs to this process, and must not look like its owner. */
const OTHER_PROGRAM = `
  const { closeSync, constants, openSync, readdirSync, readlinkSync } = require("node:fs");
  for (const fd of readdirSync("/proc/self/fd")) {
    let target = "";
    try { target = readlinkSync("/proc/self/fd/" + fd); } catch {}
    if (target.endsWith("/ptmx")) closeSync(Number(fd));
  }
  const port = openSync(process.argv[1], constants.O_RDWR | constants.O_NOCTTY);
  console.log("ready");
  process.stdin.resume().once("end", () => closeSync(port));
`;

test("a port that another process has open is a failure that names it", async () => {
  const { fake, path, pty } = await machine();
  const other = startProcess(process.execPath, ["-e", OTHER_PROGRAM, pty.path]);
  onTestFinished(async () => {
    other.stdin.end();
    await once(other, "exit");
  });
  await once(other.stdout, "data");
  const { verdict, says } = await checkSerialPort(path, own, fake.roots);
  expect(verdict).toBe("fail");
  expect(says).toBe(`${path} is in use by process ${other.pid} (node).`);
});

test("our simulator that holds a pseudo-terminal is no foreign user of the port", async () => {
  const { fake, path } = await machine(); // this process holds both ends, as our simulator does
  const anotherPid = undefined;
  expect((await checkSerialPort(path, anotherPid, fake.roots)).verdict).toBe("ok");
});

test("a file is no serial port, and a terminal on the network needs none", async () => {
  const { fake } = await machine();
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  expect(await checkSerialPort(file, own, fake.roots)).toMatchObject({ verdict: "fail" });
  expect((await checkSerialPort("tcp://192.0.2.7:20007", own, fake.roots)).verdict).toBe("ok");
});

test("a user who is not in the port's group learns how to join it, or to log in again", () => {
  const groupFile = "root:x:0:\ndialout:x:20:kiosk,other\n";
  const advice = (user: string, gid = 20, processGroups: number[] = []) =>
    notAllowed("/dev/ttyUSB0", gid, { user, groupFile, processGroups }).todo;
  expect(advice("anna")).toBe(
    "Run on the machine: sudo usermod -aG dialout anna, then log out and in again, or reboot.",
  );
  expect(advice("kiosk")).toContain("was added to the group dialout after logging in");
  expect(advice("kiosk", 0)).toContain("sudo chgrp dialout /dev/ttyUSB0");
  expect(advice("anna", 77)).toContain("usermod -aG 77 anna");
});
