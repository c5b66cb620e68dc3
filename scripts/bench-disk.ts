/**
 * Pays orders at a whole installation, and prints how much disk one of them takes in both
 * databases: on its day, when its long texts are packed, and in the archive. The events for
 * `GET /events`, of which the last 10 000 are kept, are not counted:
 *   node scripts/bench-disk.ts [--orders 500] [--basket]
 * `--basket`: each order has a basket line, a customer and two values of `customData`.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Journal } from "../src/tp-manager/journal/journal.ts";
import { packAll } from "../test/support/house/pack-all.ts";
import { TestInstallation } from "../test/support/programs/installation.ts";
import { misused, readArguments } from "./command-line.ts";

const { values } = readArguments({
  options: {
    orders: { type: "string", default: "500" },
    basket: { type: "boolean", default: false },
  },
});
const orders = Number(values.orders);
if (!Number.isInteger(orders) || orders < 1) misused();
const basket = {
  basket: {
    type: "good",
    name: "Day ticket, zone 3",
    quantity: 1,
    unit_price: 10,
    tax_rate: 0,
    discount: 0,
    total_amount: 10,
  },
  customer: { id: 7, firstname: "Ada", lastname: "Lane", email: "ada@example.com" },
  customData: { kiosk: "K-12", vip: false },
};

const at = new TestInstallation({ terminalSwitches: ["--instant"] });
const path = join(at.data, "journal.db");
try {
  await at.start();
  await at.connected();
  await at.pay(10, "before");
  const before = kilobytes();
  for (let i = 1; i <= orders; i++) await pay(i);
  await Promise.all([at.tpManager?.end(), at.supervisor?.end()]);
  const whole = kilobytes();
  const journal = new Journal(path);
  packAll(journal);
  journal.close();
  const packed = kilobytes();
  const archived = new Journal(path);
  archived.archive.putAway(Number.MAX_SAFE_INTEGER, orders + 1);
  archived.close();
  print("on its day", whole, before);
  print("packed", packed, before);
  print("in the archive", kilobytes(), before);
} finally {
  await at.stop();
}

async function pay(i: number): Promise<void> {
  const { one } = await at.pay(10, `order-${i}`, values.basket ? basket : {});
  if (one.status !== "Success") throw new Error(JSON.stringify(one));
}

/** The size of each database in kB, without free pages and the last 10 000 events. */
function kilobytes(): readonly number[] {
  return ["journal.db", "supervisor.db"].map((name) => {
    const database = new DatabaseSync(join(at.data, name), { readOnly: true });
    const size = "SELECT sum(pgsize) AS bytes FROM dbstat WHERE name NOT GLOB 'event*'";
    const bytes = Number(database.prepare(size).get()?.["bytes"]);
    database.close();
    return bytes / 1_000;
  });
}

function print(when: string, now: readonly number[], before: readonly number[]): void {
  const [journal = 0, supervisor = 0] = now.map((kb, i) => (kb - (before[i] ?? 0)) / orders);
  const both = `both ${(journal + supervisor).toFixed(2)}`;
  const each = `journal.db ${journal.toFixed(2)}, supervisor.db ${supervisor.toFixed(2)}, ${both}`;
  process.stdout.write(`${when.padEnd(16)}kB for an order: ${each}\n`);
}
