import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { bareHouse } from "./bare-house.ts";
import { type Tags, tagged } from "./bare-peer.ts";
import { oneWayHouse } from "./one-way-house.ts";
import { EOT, replyHex, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
type Reply = Parameters<typeof replyHex>[0];

/** A terminal that has returned our reference with an approval and with a refusal. */
async function honestBefore(path?: string) {
  const peerOf = (clock: TestClock) => new SessionPeer(clock);
  const made = await oneWayHouse({
    peer: peerOf,
    messages,
    ...(path === undefined ? {} : { path }),
  });
  const { peer, paid } = made;
  /** Pays an order; the terminal sends each frame in a session of its own. */
  const sells = async (orderId: string, ...says: Array<Reply | string>): Promise<string> => {
    peer.again();
    peer.requests.length = 0;
    peer.onPaid = () => {
      const frames = says.map((one) => (typeof one === "string" ? one : peer.answer(one)));
      const next = (): string => {
        const [frame] = frames.splice(0, 1);
        if (frame !== undefined) peer.send(frame);
        return EOT;
      };
      peer.onReplyTaken = next;
      next();
    };
    const end = await paid(orderId);
    if (end === "Unknown") await made.at.clock.advance(300_000);
    return end;
  };
  if (path === undefined) {
    expect(await sells("Z-1", {})).toBe("Success");
    expect(await sells("Z-2", { status: "7" })).toBe("Declined");
  }
  return { ...made, sells };
}

const zeros = { private: "0000000000" };
const other = replyHex({ ...zeros, report: "541333XXXXXX0006".padEnd(55) });

describe("a Concert terminal that has always returned our reference, and then", () => {
  test("repeats the last result before the payment's own: its own counts", async () => {
    const { sells, alarms } = await honestBefore();
    expect(await sells("A-1", zeros)).toBe("Success");
    expect(await sells("B-1", replyHex(zeros), other)).toBe("Success");
    expect(alarms()).toContain("unmatched-transaction");
  });

  test.each([
    ["the private field of another register", { private: "0123456789" }],
    ["a reference like ours in small letters", { private: "k0a1b2c3d4" }],
    ["no reference, byte for byte as before", zeros],
  ])("approves with %s: it decides nothing", async (_, lie) => {
    const { sells, alarms, phase } = await honestBefore();
    expect(await sells("A-1", zeros)).toBe("Success");
    expect(await sells("B-1", lie)).toBe("Unknown");
    expect([phase("B-1"), alarms().includes("unmatched-transaction")]).toEqual(["in-doubt", true]);
  });

  test.each([
    ["refuses for another register", { status: "7", posNumber: "07", ...zeros }],
    ["refuses with another's reference", { status: "7", private: "0123456789" }],
    [
      "refuses for another register, without amount",
      { ...zeros, status: "7", posNumber: "07", amountMinor: 0 },
    ],
  ])("%s: the order is not answered as not charged", async (_, lie) => {
    const { sells } = await honestBefore();
    expect(await sells("B-1", lie)).toBe("Unknown");
  });

  test("refuses for another register, and then approves: the approval counts", async () => {
    const { sells } = await honestBefore();
    expect(await sells("B-1", { status: "7", posNumber: "07", ...zeros }, {})).toBe("Success");
  });

  test("is known not always to do so after an operator's decision about its result", async () => {
    const { at, sells } = await honestBefore();
    expect(await sells("A-1", zeros)).toBe("Success");
    expect(await sells("B-1", zeros)).toBe("Unknown");
    await at.settle({ orderId: "B-1", outcome: "charged", note: "it is in its journal" });
    const learned = at.arbiter.oneWay?.learned;
    expect(learned?.has("echoes-approvals")).toBe(false);
    expect(await sells("C-1", zeros)).toBe("Success");
    expect(await sells("D-1", { posNumber: "07" })).toBe("Unknown");
    await at.settle({ orderId: "D-1", outcome: "charged", note: "it is in its journal" });
    expect(learned?.refuted("echoes-register")).toBe(true);
  });

  test("approves for another register with the order's reference: it is unknown", async () => {
    const { sells, alarms } = await honestBefore();
    expect(await sells("B-1", { posNumber: "07" })).toBe("Unknown");
    expect(alarms()).toContain("report-mismatch");
  });

  test("repeats the last result after a restart: the order is unknown", async () => {
    const path = join(temporaryFolder(), "journal.db");
    const before = await honestBefore(path);
    for (const id of ["Z-1", "Z-2"]) expect(await before.sells(id, {})).toBe("Success");
    expect(await before.sells("A-1", zeros)).toBe("Success");
    await before.driver.close();
    before.at.close();
    const after = await honestBefore(path);
    expect(await after.sells("B-1", replyHex(zeros))).toBe("Unknown");
  });

  test("approves the amount of an order in doubt without a reference, while idle", async () => {
    const { at, sells, peer, phase, alarms } = await honestBefore();
    expect(await sells("A-1")).toBe("Unknown");
    peer.send(replyHex(zeros));
    await at.clock.advance(10_000);
    expect([phase("A-1"), alarms()[0]]).toEqual(["in-doubt", "unmatched-transaction"]);
  });

  test("refuses the amount of an order in doubt for another register, while idle", async () => {
    const made = await honestBefore();
    const { at, sells, peer, phase } = made;
    // Its refusals have not carried a reference yet.
    at.journal.terminalLog.acceptTerminal(made.driver.state.identity, 0);
    expect(await sells("Z-3", {})).toBe("Success");
    expect(await sells("A-1")).toBe("Unknown");
    peer.send(replyHex({ ...zeros, status: "7", posNumber: "07" }));
    await at.clock.advance(10_000);
    expect(phase("A-1")).toBe("in-doubt");
  });

  test("refuses and approves in one piece: the order is unknown", async () => {
    const { sells, alarms } = await honestBefore();
    const refused = replyHex({ ...zeros, status: "7" });
    expect(await sells("B-1", refused + other)).toBe("Unknown");
    expect(alarms()).toContain("report-mismatch");
  });
});

test("a result counts although what it shows of the terminal cannot be stored", async () => {
  const made = await oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });
  const { learned } = made.at.journal;
  const { of } = learned;
  const saw = () => {
    throw new Error("disk full");
  };
  Object.assign(learned, { of: (from: never) => ({ ...of.call(learned, from), saw }) });
  expect(await made.paid()).toBe("Success");
});

test("another register's number from the first sale on raises only an alarm", async () => {
  const made = await oneWayHouse({ peer: (clock: TestClock) => new SessionPeer(clock), messages });
  made.peer.change = { posNumber: "07" };
  for (const id of ["A-1", "A-2"]) {
    made.peer.again();
    made.peer.requests.length = 0;
    expect(await made.paid(id)).toBe("Success");
  }
  expect(made.alarms()).toEqual(["report-differs", "report-differs"]);
  expect(made.at.arbiter.oneWay?.learned.refuted("echoes-register")).toBe(true);
});

describe("a Caisse-AP terminal that has always returned CF, and then", () => {
  const cancelled = { AE: "01", AF: "06" };
  const declined = { AE: "01", AF: "04" };
  const own = { CZ: "0300", CA: "01", CB: "999", CD: "0", CE: "978", AE: "10", CC: "001" };

  async function honest() {
    const made = await bareHouse();
    const { peer, paid, at } = made;
    const sells = async (orderId: string, ...says: Array<Tags | string>): Promise<string> => {
      peer.requests.length = 0;
      peer.onRequest = () => {
        const replies = says.map((one) => (typeof one === "string" ? one : peer.answer(one)));
        for (const [at, one] of replies.entries()) peer.say(one, 1_000 * (at + 1));
      };
      const end = await paid(orderId);
      if (end === "Unknown") await at.clock.advance(400_000);
      return end;
    };
    for (const [at, kind] of [{}, cancelled, declined].entries()) await sells(`Z-${at}`, kind);
    expect(["Z-0", "Z-1", "Z-2"].map((id) => made.phase(id))).toEqual([
      "charged",
      "not-charged",
      "not-charged",
    ]);
    return { ...made, sells };
  }
  const nothing = { CF: undefined };

  test.each([
    ["an approval", {}, "Success"],
    ["a cancellation", cancelled, "Cancelled"],
    ["a refusal", declined, "Declined"],
  ])("sends %s without CF, and repeats it after the next request", async (_, kind, status) => {
    const { sells } = await honest();
    expect(await sells("A-1", { ...kind, ...nothing })).toBe(status);
    expect(await sells("B-1", { ...kind, ...nothing })).toBe("Unknown");
  });

  test("sends a result without CF after an order in doubt: both orders are in doubt", async () => {
    const { sells, phase } = await honest();
    expect(await sells("A-1")).toBe("Unknown");
    expect(await sells("B-1", { ...nothing, AC: "000001" })).toBe("Unknown");
    expect([phase("A-1"), phase("B-1")]).toEqual(["in-doubt", "in-doubt"]);
  });

  test("sends a result with CF after an order in doubt: the later order is charged", async () => {
    const { sells } = await honest();
    expect(await sells("A-1")).toBe("Unknown");
    expect(await sells("B-1", {})).toBe("Success");
  });

  test("cancels without CF, which no cancellation ever had: the order is cancelled", async () => {
    const { at, sells, driver } = await honest();
    at.journal.terminalLog.acceptTerminal(driver.state.identity, 0);
    for (const [number, kind] of [{}, declined].entries()) await sells(`Y-${number}`, kind);
    for (const id of ["A-1", "B-1"]) {
      expect(await sells(id, { ...cancelled, ...nothing })).toBe("Cancelled");
    }
  });

  test("refuses another action without CF: the order is not answered as not charged", async () => {
    const { sells } = await honest();
    expect(await sells("B-1", { ...declined, ...nothing, CD: "1" })).toBe("Unknown");
  });

  test.each([
    ["another action with the order's CF", { CD: "1" }, "report-mismatch"],
    ["another register with the order's CF", { CA: "07" }, "report-mismatch"],
    ["nothing but zeros as an amount", { CB: "00" }, "report-mismatch"],
    ["the CF of another register", { CF: "0123456789" }, "unmatched-transaction"],
  ])("approves %s", async (_, lie, alarm) => {
    const { sells, alarms } = await honest();
    expect(await sells("B-1", lie)).toBe("Unknown");
    expect(alarms()).toContain(alarm);
  });

  test("sends an old approval in one piece with its own: the order is in doubt", async () => {
    const { sells, phase } = await honest();
    expect(await sells("B-1", tagged(own) + tagged({ ...own, CF: "0123456789" }))).toBe("Unknown");
    expect(phase("B-1")).toBe("in-doubt");
  });

  test("sends an approval without CF instead of an answer to recovery's question", async () => {
    const { sells, peer, phase, alarms } = await honest();
    peer.onPing = () => peer.say(tagged(own), 10);
    expect(await sells("A-1")).toBe("Unknown");
    expect([phase("A-1"), alarms().includes("unmatched-transaction")]).toEqual(["in-doubt", true]);
  });
});
