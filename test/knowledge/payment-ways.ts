import type { Option } from "./chooser.ts";
import type { World } from "./world.ts";

const NEWEST_ENTRIES = 12;

/** What may become of a payment. */
export function paymentWays({ chooser, device, recorder }: World): Option[] {
  // After many sales the terminal repeats only one of the newest.
  const first = Math.max(0, device.entries.length - NEWEST_ENTRIES);
  const repeated = device.entries.slice(first).flatMap((_, at): Option[] => {
    const index = first + at;
    const charge = recorder.charges[index];
    if (!charge || charge.isReversal) return [];
    const isNewest = index === device.entries.length - 1;
    const name = `${isNewest ? "the newest" : "an earlier"} record is reported: ${index}`;
    // A record without numbers and time is like the record of any sale.
    const isNew = charge.shown === null || device.spelling === "blank";
    return [[name, isNew ? "own-report" : "repeats"]];
  });
  return [
    "the bank approves",
    "the bank declines",
    "the customer goes",
    ["the customer goes, and the sale is stored", "abort-final"],
    ["the customer goes, and the sale is stored later", "abort-final"],
    ["the customer goes, and another amount is stored", "abort-final"],
    ["the customer goes, and the sale is reported late", "abort-final"],
    ["the bank declines, and the sale is stored", "decline-final"],
    "the line is lost, the customer goes",
    "the line is lost, the bank approves",
    "the line is lost, the bank approves, the sale is taken back",
    "the line is lost, the bank approves and reports it on the new line",
    "the line is lost, the bank approves much later",
    ["the line is lost, the bank approves too late", "fresh-storage"],
    ["tp-manager is killed, the customer goes", "restarts"],
    ["tp-manager is killed, the bank approves", "restarts"],
    ...(chooser.has("sole-user") ? [["a sale of staff is reported", "own-report"] as const] : []),
    ...repeated,
  ];
}
