import type { LastTransaction, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { lastOf } from "../explore/device.ts";
import { type Entry, reportOf } from "../explore/entry-reports.ts";
import type { Option } from "./chooser.ts";
import type { World } from "./world.ts";

/** What a probe shows. */
export function lastOfWorld(world: World): LastTransaction {
  const { chooser, device, recorder } = world;
  const newest = lastOf(device);
  const isSale = newest.kind === "transaction" && device.stored !== null;
  const options: Option[] = ["its last record", "a refusal", "nothing"];
  if (isSale && device.entries[device.stored ?? 0]?.reportedWith === undefined) {
    options.push(
      ["other numbers", "storage-stable-names"],
      ["another time", "storage-stable-names"],
    );
  }
  options.push(["a sale that never was", "storage-real"]);
  const way = chooser.choose("a probe shows", options);
  switch (way) {
    case "a refusal":
      return { kind: "not-told", why: "refused", refused: true };
    case "nothing":
      return { kind: "not-told", why: "it repeats no receipt" };
    case "a sale that never was":
      invents(world);
      break;
    case "other numbers":
    case "another time": {
      const index = device.stored ?? 0;
      device.entries[index] = { ...(device.entries[index] as Entry), reportedWith: way };
      break;
    }
    default:
  }
  const last = lastOf(device);
  if (last.kind !== "transaction") return last;
  const index = device.stale ? device.before : device.stored;
  const report = plainOf(last.report);
  recorder.shows(index, JSON.stringify(report));
  return { kind: "transaction", report };
}

function invents(world: World): void {
  const { device, order } = world;
  const index = world.charge(order, { money: "returned" }, "storage-real");
  device.before = device.stored;
  device.stored = index;
}

/** What the terminal says of an entry. */
export function recordOf({ device }: World, index: number): TransactionReport {
  return plainOf(reportOf(device.entries, index, device.spelling));
}

/** What it says of a reversal that it stores nowhere. */
export function reversalOf(world: World, index: number): TransactionReport {
  const sale = recordOf(world, index);
  return { ...sale, originalTrace: sale.traceNumber, traceNumber: null, receiptNumber: null };
}

/** Nothing in it says which entry it is, or what the model calls it. */
function plainOf(report: TransactionReport): TransactionReport {
  return { ...report, fallbackTicket: "" };
}

/** For the trace: whatever of it can differ. */
export function textOf(last: LastTransaction): string {
  if (last.kind !== "transaction")
    return last.kind === "none" ? "empty" : `not reported, ${last.why}`;
  const { good, amountMinor, receiptNumber, traceNumber, originalTrace, localTime } = last.report;
  const parts = [good ? "good" : "not good", amountMinor, receiptNumber, traceNumber, localTime];
  if (originalTrace !== null) parts.push(`reverses ${originalTrace}`);
  return parts.join(" ");
}
