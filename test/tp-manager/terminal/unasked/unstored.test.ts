import { describe, expect, test } from "vitest";
import { bareHouse } from "./bare-house.ts";

type House = Awaited<ReturnType<typeof bareHouse>>;

/** The journal takes nothing until it is told to. */
function fullDisk({ at }: House): () => void {
  const { update } = at.journal.attempts;
  at.journal.attempts.update = () => {
    throw new Error("disk full");
  };
  return () => {
    at.journal.attempts.update = update;
  };
}

describe("a bare result that cannot be stored is told once only, so it is kept", () => {
  test("and ends its payment when the disk takes it within that", async () => {
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
  ])("and ends the doubt when it comes after the 504, %s", async (_, change) => {
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
