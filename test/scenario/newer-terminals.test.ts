import { describe, expect, onTestFinished, test } from "vitest";
import { type InstallationOptions, TestInstallation } from "../support/installation.ts";

const lines = process.platform === "linux" ? (["tcp", "pty"] as const) : (["tcp"] as const);

async function installed(options: InstallationOptions): Promise<TestInstallation> {
  const at = new TestInstallation(options);
  onTestFinished(() => at.stop());
  await at.start();
  await at.connected();
  return at;
}

function control(at: TestInstallation, method: string, path: string, body?: unknown) {
  return fetch(`${at.terminalEndpoints?.control}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
}

interface WireEvent {
  readonly what: string;
  readonly direction?: "in" | "out";
  readonly hex?: string;
}

async function apdus(at: TestInstallation): Promise<WireEvent[]> {
  const { events } = (await (await control(at, "GET", "/trace?last=2000")).json()) as {
    events: WireEvent[];
  };
  return events.filter(({ what }) => what === "apdu");
}

describe.each(lines)("a terminal that numbers its messages, over %s", (line) => {
  test("gets a number in every message and answer of a payment", async () => {
    const at = await installed({
      line,
      terminalSwitches: ["--instant", "--knows-1f73"],
      config: { GATEWAY_WAIT: 0 },
    });
    const { one } = await at.pay(5, "numbered");
    expect([one.status, one.error]).toEqual(["Success", null]);
    const all = await apdus(at);
    const agreed = all.findIndex(({ hex }) => /^060f.*1f7303000000$/.test(hex ?? ""));
    const numbers = all
      .slice(agreed + 2)
      .map(({ hex = "", direction }) => [
        direction,
        hex.slice(0, 2),
        /1f7303(\d{6})$/.exec(hex)?.[1],
      ]);
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers.filter(([, , id]) => id === undefined)).toEqual([]);
    let last = 0;
    for (const [, first, id] of numbers) {
      const isAnswer = first === "80" || first === "84";
      if (!isAnswer) last += 1;
      expect(Number(id)).toBe(last);
    }
  }, 30_000);
});
