import { expect, onTestFinished, test } from "vitest";
import { ownTimeOf } from "../support/clocks/own-time.ts";
import { asSlow } from "../support/clocks/patience.ts";
import { TestInstallation } from "../support/programs/installation.ts";

const BITS_PER_SECOND = 9_600;
/** One start, eight data and one stop bit; the simulator counts the same. */
const BITS_PER_BYTE = 10;
/** 10 02, 10 03, two bytes of checksum (docs/zvt.md 2.2); doubled 10s are not counted. */
const FRAME_BYTES = 6;

interface WireEvent {
  readonly what: string;
  readonly direction?: "in" | "out";
  readonly hex?: string;
  readonly sinceStartMs: number;
}

test.runIf(process.platform === "linux")(
  "a payment on a 9600 baud line: the wire's time and the driver's share",
  async () => {
    const at = new TestInstallation({
      line: "pty",
      alone: true,
      terminalSwitches: ["--instant", "--line-speed", String(BITS_PER_SECOND)],
      config: { GATEWAY_WAIT: 0 },
    });
    onTestFinished(() => at.stop());
    await at.start();
    await at.connected();
    expect((await at.pay(5, "first")).one.status).toBe("Success");
    const startedMs = performance.now();
    const ownMs = await ownTimeOf([at.tpManager?.pid ?? 0], async () => {
      expect((await at.pay(5, "measured")).one.status).toBe("Success");
    });
    const totalMs = performance.now() - startedMs;

    const { events } = await at.control<{ events: WireEvent[] }>("GET", "/trace?last=2000");
    const authorisations = events.filter(({ hex }) => hex?.startsWith("0601"));
    const begun = authorisations.at(-1)?.sinceStartMs ?? 0;
    // Only what belongs to the second payment: its question for the last receipt and its command.
    const asked = events.filter(({ hex }) => hex?.startsWith("0620")).at(-1)?.sinceStartMs ?? begun;
    const wire = events.filter(({ sinceStartMs }) => sinceStartMs >= asked);
    const frames = wire.filter(({ what }) => what === "apdu");
    const acks = wire.filter(({ what }) => what === "ack");
    const bytes = frames.reduce(
      (sum, { hex = "" }) => sum + hex.length / 2 + FRAME_BYTES,
      acks.length,
    );
    const turns = frames.filter(
      ({ direction }, i) => direction !== frames[i - 1]?.direction,
    ).length;
    const wireMs = (bytes * BITS_PER_BYTE * 1_000) / BITS_PER_SECOND;
    const restMs = totalMs - wireMs;
    process.stdout.write(
      `\n9600 baud: ${frames.length} frames, ${acks.length} ACKs, ${bytes} bytes, ${turns} ` +
        `turn-arounds; wire ${wireMs.toFixed(0)} ms of ${totalMs.toFixed(0)} ms; everything else ` +
        `(driver, journal, API, simulator) ${restMs.toFixed(0)} ms, ` +
        `${(restMs / Math.max(turns, 1)).toFixed(1)} ms a turn-around\n`,
    );
    expect(frames.length).toBeGreaterThan(10);
    expect(wireMs).toBeGreaterThan(500);
    // Generous, for a slow machine, and without the time that other programs took on a busy one;
    // the printed line is the result.
    expect(ownMs - wireMs).toBeLessThan(asSlow(wireMs));
  },
);
