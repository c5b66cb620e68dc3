import { expect, test } from "vitest";
import { BrokenInvariant } from "../../../../src/shared/invariant.ts";
import type { PaymentObserver } from "../../../../src/tp-manager/terminal/terminal.ts";
import { ApduReader, encodeApdu, fromHex, toHex } from "../../../../src/zvt/index.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { LinePeer } from "../one-way/line-peer.ts";
import { goodSale } from "./connected-driver.ts";
import { Driver, Observer, tenEuro } from "./driver.ts";
import { statusCompletion, terminalId } from "./peer.ts";

const breaks = (): never => {
  throw new BrokenInvariant("of a test");
};

const repliesTo: Readonly<Record<string, readonly string[]>> = {
  "0600": [`060f0a191029${terminalId}490978`],
  "0501": [statusCompletion()],
  "0620": [goodSale, "060f00"],
  "0601": ["04ff010a", goodSale, "060f00"],
};

/** A driver over TCP on the test's clock, whose terminal answers all that it is asked. */
function started(subscribed?: (driver: Driver) => void): { clock: TestClock; driver: Driver } {
  const clock = new TestClock();
  const peer = new LinePeer(clock);
  const reader = new ApduReader();
  peer.hears = (hex) => {
    for (const event of reader.push(fromHex(hex))) {
      if (event.event !== "apdu") continue;
      const apdu = toHex(encodeApdu(event.apdu));
      if (apdu === "800000") continue;
      const answers = ["800000", ...(repliesTo[apdu.slice(0, 4)] ?? ["060f00"])];
      answers.forEach((answer, i) => void peer.say(answer, 2 + 10 * i));
    }
  };
  const driver = new Driver({ ...peer.transport, kind: "tcp" }, {}, clock);
  subscribed?.(driver);
  driver.terminal.start();
  return { clock, driver };
}

test.each<[string, Partial<PaymentObserver>]>([
  ["a report", { report: breaks }],
  ["a prompt", { prompt: breaks }],
  ["the arrival of an ACK", { ackArrived: breaks }],
])("a fault of this program in what is done with %s leaves the driver", async (_, broken) => {
  const { clock, driver } = started();
  await clock.advance(1_000);
  expect(driver.terminal.state.link).toBe("connected");
  void driver.terminal.pay(tenEuro, Object.assign(new Observer(), broken));
  await expect(clock.advance(1_000)).rejects.toThrow(BrokenInvariant);
});

test("a fault of this program while the terminal is introduced ends the driver", async () => {
  let closing: Promise<void> | undefined;
  const { clock } = started(({ terminal }) => {
    terminal.subscribe(({ type }) => {
      if (type !== "status") return;
      closing ??= terminal.close();
      closing.catch(() => undefined);
      breaks();
    });
  });
  await clock.advance(1_000);
  await expect(closing).rejects.toThrow(BrokenInvariant);
});
