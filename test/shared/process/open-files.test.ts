import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pidInNetstat } from "../../../src/launcher/processes/network.ts";
import { holderText, inodesOf, listenerOnLinux } from "../../../src/shared/process/open-files.ts";

const six = "0".repeat(24);
const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:223D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 101 1 0
   1: 00000000:223E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 102 1 0
   2: 0100007F:223D 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 103 1 0
   3: 0A0200C0:223D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 104 1 0
   0: ${six}01000000:223D ${six}00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 105 1
`;

test("only sockets that listen on a loopback or any address hold its port", () => {
  expect(inodesOf(sockets, 8765)).toEqual(["101", "105"]);
  expect(inodesOf(sockets, 8766)).toEqual(["102"]);
  expect(inodesOf(sockets, 0x9999)).toEqual([]);
});

test.skipIf(process.platform !== "linux").each(["127.0.0.1", "::1", "::"])(
  "the process that listens on %s is found, until it has ended",
  async (host) => {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(listenerOnLinux(port)).toMatchObject({ pid: process.pid, command: "node" });
    expect(holderText(port)).toBe(`process ${process.pid} (node) has it`);
    server.close();
    await once(server, "close");
    // Meanwhile another process may have got the port.
    expect(listenerOnLinux(port)?.pid).not.toBe(process.pid);
  },
);

test("the list of Windows is read in each of its languages", () => {
  const listed = [
    "Aktive Verbindungen",
    "",
    "  Proto  Lokale Adresse         Remoteadresse          Status           PID",
    "  TCP    0.0.0.0:135            0.0.0.0:0              ABHÖREN         1111",
    "  TCP    127.0.0.1:8765         127.0.0.1:50000        HERGESTELLT     2222",
    "  TCP    127.0.0.1:8765         0.0.0.0:0              ABHÖREN         3333",
    "  TCP    192.0.2.7:8766         0.0.0.0:0              ABHÖREN         4444",
    "  TCP    [::1]:8767             [::]:0                 ABHÖREN         5555",
    "  UDP    0.0.0.0:8768           *:*                                    6666",
  ].join("\r\n");
  const pids = [135, 8765, 8766, 8767, 8768, 876].map((port) => pidInNetstat(listed, port));
  expect(pids).toEqual([1111, 3333, undefined, 5555, undefined, undefined]);
});
