import { describe, expect, test } from "vitest";
import { FaultBox } from "../../../../../src/simulator/terminal/faults/fault-box.ts";
import type { BytePort } from "../../../../../src/simulator/terminal/port/ports.ts";
import { encodeFrame } from "../../../../../src/simulator/terminal/zvt/link/frame.ts";
import { SerialLine } from "../../../../../src/simulator/terminal/zvt/link/lines.ts";
import { TestClock } from "../../../../support/clocks/test-clock.ts";
import { usedBy } from "../../../../zvt/vector-uses.ts";
import { hasVectors } from "../../../../zvt/vectors.ts";
import { fromHex, hex } from "../support/register.ts";

const STATUS = encoded("04ff010e");
const POSITIVE = encoded("800000");
const COMMAND = encoded("050100");
const ACK = "06";
const NAK = "15";

describe("sending a frame", () => {
  test("is done when ACK arrives", async () => {
    const { line, port, clock } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(0);
    expect(port.taken()).toEqual([STATUS]);
    port.deliver(ACK);
    expect(await sent).toBe("sent");
    expect(clock.running).toEqual([]);
  });

  test("is repeated at once after NAK, with the same bytes", async () => {
    const { line, port, clock } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(0);
    port.deliver(NAK);
    await clock.advance(0);
    port.deliver(ACK);
    expect(await sent).toBe("sent");
    expect(port.taken()).toEqual([STATUS, STATUS]);
  });

  test("is repeated twice when T2 expires, and has then failed", async () => {
    const { line, port, clock } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(4_999);
    expect(port.taken()).toEqual([STATUS]);
    await clock.advance(1);
    expect(port.taken()).toEqual([STATUS]);
    await clock.advance(5_000);
    expect(port.taken()).toEqual([STATUS]);
    await clock.advance(5_000);
    expect(await sent).toBe("failed");
    expect(port.taken()).toEqual([]);
    expect(clock.running).toEqual([]);
  });

  test("counts an answer as the ACK when no ACK came in front of it", async () => {
    const { line, port, clock, apdus } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(0);
    port.deliver(POSITIVE);
    expect(await sent).toBe("sent");
    expect(apdus).toEqual(["800000"]);
    expect(port.taken()).toEqual([STATUS, ACK]);
  });

  test("does not count a command as the missing ACK", async () => {
    const { line, port, clock, apdus } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(0);
    port.deliver(encoded("06b000"));
    await clock.advance(5_000);
    expect(apdus).toEqual(["06b000"]);
    expect(port.taken()).toEqual([STATUS, ACK, STATUS]);
    port.deliver(ACK);
    expect(await sent).toBe("sent");
  });

  test("waits until the frame before it gets its ACK", async () => {
    const { line, port, clock } = serialLine();
    const first = line.send(fromHex("04ff010e"));
    const second = line.send(fromHex("800000"));
    await clock.advance(100);
    expect(port.taken()).toEqual([STATUS]);
    port.deliver(ACK);
    expect(await first).toBe("sent");
    await clock.advance(0);
    expect(port.taken()).toEqual([POSITIVE]);
    port.deliver(ACK);
    expect(await second).toBe("sent");
  });

  test("fails when the line closes", async () => {
    const { line, port, clock } = serialLine();
    const sent = line.send(fromHex("04ff010e"));
    await clock.advance(0);
    port.close();
    expect(await sent).toBe("failed");
    expect(await line.send(fromHex("04ff010e"))).toBe("failed");
    expect(clock.running).toEqual([]);
  });
});

describe("receiving", () => {
  test("gets its ACK before anything else happens", () => {
    const { port, apdus } = serialLine();
    port.deliver(COMMAND);
    expect(port.taken()).toEqual([ACK]);
    expect(apdus).toEqual(["050100"]);
  });

  test("of a wrong checksum is answered with NAK, and the repeat is taken", () => {
    const { port, apdus } = serialLine();
    port.deliver(`${COMMAND.slice(0, -2)}00`);
    port.deliver(COMMAND);
    expect(port.taken()).toEqual([NAK, ACK]);
    expect(apdus).toEqual(["050100"]);
  });

  test("of half a frame is answered with NAK when T1 is over", async () => {
    const { port, apdus, clock } = serialLine();
    port.deliver(COMMAND.slice(0, 8));
    await clock.advance(199);
    expect(port.taken()).toEqual([]);
    await clock.advance(1);
    expect(port.taken()).toEqual([NAK]);
    expect(apdus).toEqual([]);
  });

  test("of a frame in slow pieces is good as long as no pause reaches T1", async () => {
    const { port, apdus, clock } = serialLine();
    for (const byte of COMMAND.match(/../g) ?? []) {
      port.deliver(byte);
      await clock.advance(199);
    }
    expect(apdus).toEqual(["050100"]);
    expect(port.taken()).toEqual([ACK]);
    expect(clock.running).toEqual([]);
  });

  test("of a repeat after a lost ACK gets its ACK again and is not acted on", async () => {
    const { line, port, apdus, clock } = serialLine();
    port.deliver(COMMAND);
    void line.send(fromHex("800000"));
    await clock.advance(0);
    port.deliver(COMMAND);
    expect(port.taken()).toEqual([ACK, POSITIVE, ACK]);
    expect(apdus).toEqual(["050100"]);
    port.deliver(ACK);
    await clock.advance(0);
  });

  test("of the same bytes much later than a repeat is a new command", async () => {
    const { port, apdus, clock } = serialLine();
    port.deliver(COMMAND);
    await clock.advance(5_000 + 1_000);
    port.deliver(COMMAND);
    expect(apdus).toEqual(["050100"]);
    await clock.advance(10_001);
    port.deliver(COMMAND);
    expect(apdus).toEqual(["050100", "050100"]);
    expect(port.taken()).toEqual([ACK, ACK, ACK]);
  });

  test("of the same command after our answer got its ACK is a new command", async () => {
    const { line, port, apdus, clock } = serialLine();
    port.deliver(COMMAND);
    void line.send(fromHex("800000"));
    await clock.advance(0);
    port.deliver(ACK);
    await clock.advance(0);
    port.deliver(COMMAND);
    expect(apdus).toEqual(["050100", "050100"]);
  });

  test("of an ACK that nothing waits for changes nothing", () => {
    const { port, apdus } = serialLine();
    port.deliver(ACK + ACK + NAK);
    port.deliver(COMMAND);
    expect(apdus).toEqual(["050100"]);
    expect(port.taken()).toEqual([ACK]);
  });
});

interface Expected {
  readonly reaction: "nak" | "nak-after-t1" | "ack-then-reject" | "ignore";
}

test.skipIf(!hasVectors).each(
  usedBy("bad-frame-at-simulator").map(({ id, hex: bytes, expect: expected }) => ({
    id,
    bytes,
    reaction: (expected as Expected).reaction,
  })),
)("the conformance vector $id: $reaction", async ({ bytes, reaction }) => {
  const { port, clock, apdus } = serialLine();
  port.deliver(bytes);
  const atOnce = port.taken();
  await clock.advance(200);
  const later = port.taken();
  const found = { atOnce, later, passedOn: apdus.length };
  expect(found).toEqual(
    {
      nak: { atOnce: [NAK], later: [], passedOn: 0 },
      "nak-after-t1": { atOnce: [], later: [NAK], passedOn: 0 },
      // Refused by the terminal above the line, see terminal.test.ts.
      "ack-then-reject": { atOnce: [ACK], later: [], passedOn: 1 },
      ignore: { atOnce: [], later: [], passedOn: 0 },
    }[reaction],
  );
});

type Handlers = Parameters<BytePort["start"]>[0];

/** A port whose other end is the test. */
class TestPort implements BytePort {
  readonly name = "test";
  #handlers: Handlers | undefined;
  #written: string[] = [];

  start(handlers: Handlers): void {
    this.#handlers = handlers;
  }

  write(bytes: Uint8Array): void {
    this.#written.push(hex(bytes));
  }

  close(): void {
    this.#handlers?.closed();
  }

  deliver(bytes: string): void {
    this.#handlers?.data(fromHex(bytes));
  }

  /** What was written since the last call, a write each. */
  taken(): string[] {
    return this.#written.splice(0);
  }
}

function serialLine() {
  const port = new TestPort();
  const clock = new TestClock();
  const apdus: string[] = [];
  const line = new SerialLine(port, {
    clock,
    t1Ms: 200,
    t2Ms: 5_000,
    t3Ms: 5_000,
    t4Ms: 180_000,
    transport: "serial",
    faults: new FaultBox(),
    running: () => undefined,
    zvtOff: () => false,
    onWire: () => {},
  });
  line.start({ apdu: (apdu) => apdus.push(hex(apdu)), closed: () => {} });
  return { line, port, clock, apdus };
}

function encoded(apdu: string): string {
  return hex(encodeFrame(fromHex(apdu)));
}
