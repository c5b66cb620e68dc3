import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/shared/time.ts";
import { asSlow, PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { until } from "../../support/programs/child-program.ts";
import { freePort } from "../../support/programs/installation.ts";
import { startProcess } from "../../support/programs/own-processes.ts";
import { sampleTransaction } from "../sample-transaction.ts";
import { SupervisorProcess, writeConfig } from "../supervisor-process.ts";
import { mapiOf, resultOf } from "./mapi.ts";

/** A busy machine with two cores carries this; FLOOD_PER_SECOND=2000 is the whole attack. */
const JUNK_PER_SECOND = Number(process.env["FLOOD_PER_SECOND"] ?? 200);
const DRIBBLING = 64;
const GENUINE = Number(process.env["FLOOD_GENUINE"] ?? 20);
/** More than a listener takes that counts junk too. */
const JUNK_FIRST = 800;
const TAKEN_WITHIN_MS = 5_000;
/** What the runtime takes while many connections come and go, and then keeps; measured: 155 MB. */
const GROWTH_MAX = 256 * 1024 * 1024;

/** The answer, and how long it took; only Linux has further loopback addresses by itself. */
function notify(
  port: number,
  localAddress: string,
  number: number,
): Promise<{ status: number; tookMs: number }> {
  const orderId = `A-${number}`;
  const transid = `5CF62325CB21${String(number).padStart(4, "0")}`;
  const xml = mapiOf(resultOf({ idForMerchant: orderId, transid }));
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const beganMs = systemClock.monotonicMs();
  return new Promise((resolve, reject) => {
    const sent = request(
      { port, localAddress, method: "POST", path: "/notify", headers, agent: false },
      (response) => {
        response.resume();
        const tookMs = systemClock.monotonicMs() - beganMs;
        resolve({ status: response.statusCode ?? 0, tookMs });
      },
    );
    sent.on("error", reject);
    sent.end(new URLSearchParams({ xml }).toString());
  });
}

function residentBytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

/** The attack's own address is what everybody has who comes through a reverse proxy. */
const senders = {
  "another address": "127.0.0.2",
  "the attack's address": "127.0.0.1",
};
const ORDERS = GENUINE * Object.keys(senders).length;

test.runIf(process.platform === "linux")(
  "junk and dribbling connections keep out nothing genuine from any address",
  async () => {
    const port = await freePort();
    const data = join(temporaryFolder(), "data");
    // Nobody is at the gateway's address: what is handed off waits, and its order is known.
    const gatewayUrl = `http://127.0.0.1:${await freePort()}`;
    writeConfig(data, gatewayUrl, { NOTIFICATION_PORT: String(port) });
    const supervisor = new SupervisorProcess(data);
    await supervisor.ready();
    for (let number = 0; number < ORDERS; number++) {
      const transaction = sampleTransaction({ orderId: `A-${number}` });
      await supervisor.call("store-transaction", { transaction }, PATIENCE_MS);
    }
    const before = residentBytes(supervisor.pid);

    const program = join(import.meta.dirname, "attacker.ts");
    const args = [port, JUNK_PER_SECOND, DRIBBLING].map(String);
    const attacker = startProcess(process.execPath, [program, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    attacker.stdout?.on("data", (chunk) => (output += chunk));
    onTestFinished(() => void attacker.kill("SIGKILL"));
    const progress = () => JSON.parse(output.trim().split("\n").at(-1) || "{}");
    const struck = () => (progress().answered >= JUNK_FIRST ? true : undefined);
    await until("the attack is under way", struck);

    let number = 0;
    for (const [name, sender] of Object.entries(senders)) {
      const took: number[] = [];
      for (let sent = 0; sent < GENUINE; sent++) {
        const { status, tookMs } = await notify(port, sender, number++);
        expect(status, name).toBe(200);
        took.push(tookMs);
      }
      const slowest = Math.max(...took);
      console.log(
        `${JSON.stringify(progress())}; genuine ones from ${name} took at most ` +
          `${Math.round(slowest)} ms`,
      );
      expect(slowest, name).toBeLessThan(asSlow(TAKEN_WITHIN_MS));
    }
    const grown = residentBytes(supervisor.pid) - before;
    console.log(`resident memory grew by ${Math.round(grown / 2 ** 20)} MB`);
    expect(grown).toBeLessThan(GROWTH_MAX);
    expect(supervisor.log().split("\n").length).toBeLessThan(ORDERS * 20);
    for (const orderId of ["A-0", `A-${GENUINE}`]) {
      const { state } = await supervisor.call("gateway-history", { orderId }, PATIENCE_MS);
      expect([orderId, state]).toEqual([orderId, "captured"]);
    }
  },
);
