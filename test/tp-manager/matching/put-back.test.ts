import { expect, test } from "vitest";
import { alarms, house, pay, request } from "../../support/house/payment-house.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import { aborted, approves } from "../../support/terminals/scripted-terminal.ts";
import { ends, notReported, stored } from "./reported-payments.ts";

// Both databases were put back to a time of which the journal has one aborted order, whose look was
// refused. Order Y was charged since, and only the gateway and the terminal have it.
test.each([
  ["refused", notReported],
  ["answered", baseline.last],
])("a put-back journal whose one probe was %s charges no order again", async (_how, before) => {
  const at = house();
  at.start();
  await ends(at, "A", aborted, { before, change: { amountMinor: 500 } });
  await at.clock.advance(20_000);
  const ofY = report({ receiptNumber: "0077", traceNumber: "000077", localTime: "130500" });
  at.close();
  const after = house(at.path);
  after.start();
  after.supervisor.stored.push({ orderId: "Y" } as never);
  after.terminal.baseline = { ...baseline, last: stored(ofY) };
  after.terminal.last = stored(ofY);
  let commands = 0;
  after.terminal.script = (...given) => {
    commands += 1;
    return approves(...given);
  };
  for (let asked = 0; asked < 4; asked += 1) {
    await pay(after, request("Y")).catch(() => undefined);
    await after.clock.advance(20_000);
  }
  expect([commands, alarms(after)]).toEqual([0, expect.arrayContaining(["journal-lost"])]);
});
