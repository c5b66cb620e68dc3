import { expect, test } from "vitest";
import { type Clock, within } from "../../../src/shared/time.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { steppedClock } from "../../support/clocks/stepped-clock.ts";
import * as french from "./concert/support/started.ts";
import {
  authorisation,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
  transports,
} from "./support/started.ts";

const LONG_MS = 3_600_000;
const session = { transport: "tcp", family: "concert", sessions: true } as const;
const bare = { transport: "tcp", family: "caisse-ap", sessions: false } as const;

test.each(transports)("a terminal on %s ends while faults still hold it up", async (transport) => {
  for (const fault of ["delay", "mute:at=command", "late-ack"]) {
    if (fault === "late-ack" && transport === "tcp") continue;
    const { clock, running } = watched();
    const { simulator, register } = await started(transport, { clock });
    await register.run(REGISTRATION_WITHOUT_PRINT);
    simulator.arm(`${fault}${fault.includes(":") ? "," : ":"}ms=${LONG_MS}`);
    register.send(authorisation(1200));
    await expect
      .poll(running)
      .toContainEqual(expect.stringMatching(/^fault (pause|mute|late ACK)/));
    await closedSoon(simulator);
    await expect.poll(running).toEqual([]);
  }
});

test("a terminal of Concert ends while it repeats a reply that nobody takes", async () => {
  const { clock, running } = watched();
  const { simulator, register } = await french.started(
    session,
    { controlPort: 0, enqTries: 0 },
    undefined,
    clock,
  );
  await register.ask(french.fixedRequest(1200), PATIENCE_MS);
  register.polite = false;
  await fetch(`${simulator.controlUrl}/again`, { method: "POST" });
  expect(await register.next(PATIENCE_MS)).toBe("enq");
  await closedSoon(simulator);
  await expect.poll(running).toEqual([]);
});

test("a terminal that a fault made silent speaks again once all is as at the start", async () => {
  const { simulator, register } = await started("tcp", { controlPort: 0 });
  await register.run(REGISTRATION_WITHOUT_PRINT);
  simulator.arm(`mute:at=command,ms=${LONG_MS}`);
  register.send(authorisation(1200));
  await expect.poll(() => simulator.faults.muted).toBe(true);
  await fetch(`${simulator.controlUrl}/words`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ word: "reset" }),
  });
  await simulator.terminal.idle();
  expect((await register.run(STATUS)).at(-1)).toMatch(/^060f/);
});

test.each(["before", "middle"])("a reply that was cut %s is not traced as sent", async (when) => {
  const { simulator, register } = await french.started(bare, { faults: [`close:when=${when}`] });
  register.say(french.taggedRequest(1200));
  await register.rest(PATIENCE_MS);
  await simulator.terminal.idle();
  expect(simulator.terminal.state()).toMatchObject({ lastReplyDelivered: false });
  const sent = simulator.terminal.trace
    .last(100)
    .filter(({ what, direction }) => what === "body" && direction === "out");
  expect(sent).toEqual([]);
});

async function closedSoon(simulator: { close(): Promise<void> }): Promise<void> {
  const closing = simulator.close().then(() => "closed");
  expect(await within(steppedClock, "close", PATIENCE_MS, closing)).toBe("closed");
}

/** A clock that knows which of its timers are running. */
function watched() {
  const running = new Set<{ readonly name: string }>();
  const clock: Clock = {
    ...steppedClock,
    startTimer(name, delayMs, fire) {
      const timer = steppedClock.startTimer(name, delayMs, () => {
        running.delete(timer);
        fire();
      });
      running.add(timer);
      const clear = (): void => {
        running.delete(timer);
        timer.clear();
      };
      return { name, clear };
    },
  };
  return { clock, running: () => [...running].map(({ name }) => name) };
}
