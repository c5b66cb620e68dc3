import { describe, expect, test } from "vitest";
import { bareHouse } from "./bare-house.ts";

type House = Awaited<ReturnType<typeof bareHouse>>;

/** No attempt can be written to the journal until the returned function is called. */
function fullDisk({ at }: House): () => void {
  const { update } = at.journal.attempts;
  at.journal.attempts.update = () => {
    throw new Error("disk full");
  };
  return () => {
    at.journal.attempts.update = update;
  };
}

describe("a bare result that cannot be stored is never sent again, so it is kept in memory", () => {
  test("and ends its payment when it can be stored while the payment runs", async () => {
    const made = await bareHouse();
    const { at, peer, paid, phase } = made;
    peer.onRequest = () => {
      const empties = fullDisk(made);
      at.clock.startTimer("space", 5_000, empties);
      peer.say(peer.answer(), 1_000);
    };
    expect(await paid()).toBe("Success");
    expect([phase(), at.supervisor.stored.length]).toEqual(["charged", 1]);
  });

  test.each([
    ["with its reference", {}],
    ["without a reference", { CF: undefined }],
  ])("and charges its order when it comes after the 504, %s", async (_, change) => {
    const made = await bareHouse();
    const { at, peer, paid, phase } = made;
    peer.onRequest = () => {};
    expect(await paid()).toBe("Unknown");
    const empties = fullDisk(made);
    peer.say(peer.answer(change), 10);
    await at.clock.advance(3_000);
    peer.drop();
    await at.clock.advance(60_000);
    expect(phase()).toBe("in-doubt");
    empties();
    await at.clock.advance(3_000);
    expect(phase()).toBe("charged");
    expect(at.supervisor.stored).toHaveLength(1);
  });
});

describe("an approval that comes before the request of the next attempt is sent", () => {
  test.each([
    ["in the wait before it", 10],
    ["complete only at the end of that wait", 49],
  ])("charges the first attempt, and nothing is sent, %s", async (_, atMs) => {
    const { at, peer, paid, phase, alarms } = await bareHouse();
    peer.onRequest = () => {
      peer.say(peer.answer({ AE: "01", AF: "02", CB: undefined, AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
    const approval = peer.answer();
    peer.connected = () => peer.say(approval, atMs);
    expect(await paid()).toBe("Success");
    expect([peer.requests.length, phase(), alarms()]).toEqual([1, "charged", ["charged-late"]]);
    expect(at.supervisor.stored).toHaveLength(1);
    expect(at.journal.terminalLog.unmatched(2)).toEqual([]);
  });

  test.each([
    ["has no amount", 0, { CB: undefined, CE: undefined }],
    ["is still coming", 60, { ZT: "x".repeat(100) }],
  ])("charges the first attempt also when it %s", async (_, missing, change) => {
    const { peer, paid, phase, alarms } = await bareHouse();
    peer.onRequest = () => {
      peer.say(peer.answer({ AE: "01", AF: "02", CB: undefined, AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
    const approval = peer.answer(change);
    peer.connected = () => {
      peer.connected = () => undefined;
      peer.say(approval.slice(0, approval.length - missing), 10);
    };
    expect(await paid()).toBe("Success");
    expect([peer.requests.length, phase(), alarms()]).toEqual([1, "charged", ["charged-late"]]);
  });

  test("charges the first attempt also when the connection ends amid it", async () => {
    const { peer, paid, phase, alarms } = await bareHouse();
    peer.onRequest = () => {
      peer.say(peer.answer({ AE: "01", AF: "02", CB: undefined, AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
    const approval = peer.answer({ ZT: "x".repeat(100) });
    peer.connected = () => {
      peer.connected = () => undefined;
      peer.say(approval.slice(0, -60), 5);
      peer.drop(20);
    };
    expect(await paid()).toBe("Success");
    expect([peer.requests.length, phase(), alarms()]).toEqual([1, "charged", ["charged-late"]]);
  });
});

test("a result that was kept while its payment could not end charges its attempt", async () => {
  const made = await bareHouse();
  const { at, peer, paid, phase, alarms } = made;
  peer.onRequest = () => {
    const empties = fullDisk(made);
    at.clock.startTimer("space", 4_500, empties);
    peer.say(peer.answer({ CF: undefined }), 1_000);
    peer.drop(2_000);
  };
  expect(await paid()).toBe("STORAGE_FAILED");
  await at.clock.advance(300_000);
  expect(phase()).toBe("charged");
  expect(alarms()).not.toContain("unmatched-transaction");
  expect(at.supervisor.stored).toHaveLength(1);
});

/** No attempt can be read from the journal until the returned function is called. */
function unreadableDisk({ at }: House): () => void {
  const { attempts } = at.journal;
  const { ids, unfinished, newest } = attempts;
  const fails = () => {
    throw new Error("disk I/O error");
  };
  Object.assign(attempts, { ids: fails, unfinished: fails, newest: fails });
  return () => Object.assign(attempts, { ids, unfinished, newest });
}

describe("a bare result that cannot be judged, as the journal cannot be read, is kept", () => {
  const nameless = { CF: undefined };

  test("and ends its payment when the journal can be read again", async () => {
    const made = await bareHouse();
    const { at, peer, paid, phase } = made;
    peer.onRequest = () => {
      const mends = unreadableDisk(made);
      at.clock.startTimer("mended", 5_000, mends);
      peer.say(peer.answer(nameless), 1_000);
    };
    expect(await paid()).toBe("Success");
    expect([phase(), at.supervisor.stored.length]).toEqual(["charged", 1]);
  });

  test("and charges its order when the payment has ended meanwhile", async () => {
    const made = await bareHouse();
    const { at, peer, paid, phase, alarms } = made;
    peer.onRequest = () => {
      const mends = unreadableDisk(made);
      at.clock.startTimer("mended", 211_000, mends);
      peer.say(peer.answer(nameless), 1_000);
    };
    expect(await paid()).not.toBe("Success");
    await at.clock.advance(300_000);
    expect([phase(), at.supervisor.stored.length]).toEqual(["charged", 1]);
    expect(alarms()).not.toContain("unmatched-transaction");
  });

  test("and a refusal ends its payment too", async () => {
    const made = await bareHouse();
    const { at, peer, paid } = made;
    peer.onRequest = () => {
      const mends = unreadableDisk(made);
      at.clock.startTimer("mended", 5_000, mends);
      peer.say(peer.answer({ ...nameless, AE: "01", AF: "02", AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
  });

  test.each([
    ["and charges the first attempt", {}, 60, "charged"],
    ["and leaves the order in doubt without a reference", nameless, 60, "in-doubt"],
    ["also when the journal stays unreadable", {}, 5_000, "charged"],
  ])("an early approval stops the next request %s", async (_, change, mendedMs, after) => {
    const made = await bareHouse();
    const { at, peer, paid, phase, alarms } = made;
    peer.onRequest = () => {
      peer.say(peer.answer({ AE: "01", AF: "02", CB: undefined, AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
    const approval = peer.answer(change);
    peer.connected = () => {
      peer.connected = () => undefined;
      at.clock.startTimer("breaks", 5, () => {
        const mends = unreadableDisk(made);
        at.clock.startTimer("mended", mendedMs, mends);
      });
      peer.say(approval, 10);
    };
    await paid();
    await at.clock.advance(60_000);
    expect([peer.requests.length, phase()]).toEqual([1, after]);
    expect(alarms()).toContain(after === "charged" ? "charged-late" : "unmatched-transaction");
    expect(await paid()).toBe(after === "charged" ? "Success" : "Unknown");
    expect(peer.requests).toHaveLength(1);
  });
});

describe("an approval that waits in memory stops the request of the order's next attempt", () => {
  test.each([
    ["when it is stored before that attempt begins", 1, 1],
    ["when it is stored only after that attempt has ended", 2, 2],
  ])("%s", async (_, failures, attemptsMade) => {
    const { at, peer, driver, paid, phase, alarms } = await bareHouse();
    peer.onRequest = () => {
      peer.say(peer.answer({ AE: "01", AF: "02", CB: undefined, AA: undefined }), 1_000);
    };
    expect(await paid()).toBe("Declined");
    peer.onPing = () => peer.say(peer.answer(), 10);
    const { attempts } = at.journal;
    const { update } = attempts;
    let left = failures;
    attempts.update = () => {
      left -= 1;
      if (left === 0) attempts.update = update;
      throw new Error("disk full");
    };
    const checked = driver.check(new AbortController().signal);
    checked.catch(() => undefined);
    await at.clock.advance(320);
    expect(await paid()).toBe("Success");
    expect([left, peer.requests.length, phase()]).toEqual([0, 1, "charged"]);
    expect([...at.journal.attempts.ids()]).toHaveLength(attemptsMade);
    expect(alarms()).toContain("charged-late");
    expect(at.supervisor.stored).toHaveLength(1);
  });
});
