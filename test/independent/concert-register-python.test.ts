import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Setting, settings, started } from "../simulator/terminal/concert/support/started.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { isWhole, linesOr } from "../support/run/scope.ts";
import { python, runConcertRegister } from "./programs.ts";

/**
 * The simulated terminals before a register that was written from the protocol alone, in another
 * language, and that prints every offence.
 */
const PAYMENTS = isWhole ? 50 : 15;
const amounts = Array.from({ length: PAYMENTS }, (_, i) => 100 + 37 * i);
const concertLines = linesOr("pty");
const played = settings.filter(({ family, sessions, transport }) =>
  family === "concert" ? concertLines.includes(transport) : !sessions && transport === "tcp",
);

async function pay(setting: Setting, options: object) {
  const link = join(temporaryFolder(), "terminal");
  const pty = setting.transport === "pty" ? { pty: { link } } : {};
  const { simulator, register } = await started(setting, {
    ...pty,
    timers: { answerMs: 3_000, sessionMs: 3_000, gapMs: 20 },
    ...options,
  });
  await register.close();
  const tcp = [
    "--tcp",
    `127.0.0.1:${simulator.endpoints.tcp?.port}`,
    ...(setting.sessions ? [] : ["--bare"]),
  ];
  const where = setting.transport === "tcp" ? tcp : ["--pty", link];
  return { simulator, answers: await runConcertRegister([...where, ...amounts.map(String)]) };
}

describe.skipIf(!python).each(played)("a register in Python, $family on $transport", (setting) => {
  const [good, refused] = setting.family === "concert" ? ["0", "7"] : ["10", "01"];

  test(`${PAYMENTS} payments are charged once each`, async () => {
    const { simulator, answers } = await pay(setting, { behaviour: { outcome: "approve" } });
    expect(answers.flatMap(({ problems }) => problems)).toEqual([]);
    expect(answers.map(({ state }) => state)).toEqual(amounts.map(() => good));
    expect(simulator.ledger.entries.map(({ amountMinor }) => amountMinor)).toEqual(amounts);
  });

  test("the cents decide, and bank and register agree", async () => {
    const { simulator, answers } = await pay(setting, {});
    expect(answers.flatMap(({ problems }) => problems)).toEqual([]);
    const sold = amounts.filter((amount) => amount % 100 === 0);
    expect(answers.map(({ state }) => state)).toEqual(
      amounts.map((amount) => (sold.includes(amount) ? good : refused)),
    );
    expect(simulator.ledger.entries.map(({ amountMinor }) => amountMinor)).toEqual(sold);
  });
});
