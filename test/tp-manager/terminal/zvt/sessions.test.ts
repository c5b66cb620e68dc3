import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../../src/shared/time.ts";
import {
  authorisation,
  type Command,
  endOfDay,
  openPreAuths,
  registration,
  repeatReceipt,
  statusEnquiry,
} from "../../../../src/tp-manager/terminal/zvt/commands/commands.ts";
import { Session } from "../../../../src/tp-manager/terminal/zvt/session/session.ts";
import { defaultZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { encodeMessage, type FieldInputs } from "../../../../src/zvt/index.ts";
import { usedBy } from "../../../zvt/vector-uses.ts";
import { hasVectors, type Step, type Vector } from "../../../zvt/vectors.ts";
import { never, patientTimers, tenEuro } from "./driver.ts";
import { type Peer, serialPeer, tcpPeer } from "./peer.ts";

/**
 * The recorded exchanges with this driver in the register's place: it sends its own commands, the
 * terminal's side comes from the vector byte for byte, and every answer must be the recorded one.
 */
const commands: Readonly<Record<string, (steps: readonly Step[]) => Command>> = {
  "0600": () => registration(defaultZvtOptions),
  "0501": () => statusEnquiry("000000", "container"),
  "0601": (steps) => authorisation({ ...tenEuro, ...windowOf(steps) }, { printerReady: true }),
  "0620": () => repeatReceipt("000000"),
  "0622": () => judged("pre-authorisation", { amount: 2500, currency: "0978" }),
  "0623": openPreAuths,
  "0625": () => judged("pre-authorisation-reversal", { receiptNumber: "0231" }),
  "0650": () => endOfDay("000000"),
  "06e0": () => ({
    name: "display-text",
    apdu: encodeMessage("display-text", {
      fields: { duration: 2, text1Line1: "Hello", text1Line2: "Welt" },
    }),
    replies: [],
    ends: "answer",
    judged: false,
  }),
};

/** A command that the driver itself does not send; its session carries it like any other. */
function judged(name: Command["name"], fields: FieldInputs): Command {
  const apdu = encodeMessage(name, { fields });
  const { replies, ends } = endOfDay("000000");
  return { name, apdu, replies, ends, judged: true };
}

/** Whether the register asks for time with 84 9C, because it sells goods. */
function sellsGoods(steps: readonly Step[]): boolean {
  return steps.some((step) => apduOf(step) === "849c00");
}

/** The shortest window for goods, whose first 84 9C is sent after a second. */
function windowOf(steps: readonly Step[]): { goodsWindowSeconds?: number } {
  return sellsGoods(steps) ? { goodsWindowSeconds: 2 } : {};
}

/** Whether the source left out every answer of both sides (04 FF right after the command). */
function leavesOutAnswers(steps: readonly Step[]): boolean {
  return steps.some(isCommand) && !steps.some(isAnswerStep);
}

const peers: Peer[] = [];
const sessions: Session[] = [];

afterEach(async () => {
  for (const session of sessions.splice(0)) await session.close();
  for (const peer of peers.splice(0)) await peer.close();
});

async function openSession(
  makePeer: () => Promise<Peer>,
): Promise<{ peer: Peer; session: Session }> {
  const peer = await makePeer();
  peers.push(peer);
  peer.sendsAck = false;
  const quiet = () => {};
  const session = await new Session(
    {
      transport: peer.transport,
      clock: systemClock,
      timers: patientTimers,
      charset: () => "cp437",
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
    },
    { unmatched: quiet, note: quiet, outOfSync: quiet, down: quiet },
  ).open(never);
  sessions.push(session);
  return { peer, session };
}

/** Without Read Card, the one recorded command that the driver cannot send. */
function playable(steps: readonly Step[]): readonly Step[] {
  const begin = steps.findIndex((step) => isCommand(step) && controlOf(step) === "06c0");
  if (begin < 0) return steps;
  const following = steps.slice(begin + 1);
  return [...steps.slice(0, begin), ...following.slice(following.findIndex(isCommand))];
}

function apduOf({ apdu, hex = "" }: Step): string {
  return apdu ?? hex;
}

function controlOf(step: Step): string {
  return apduOf(step).slice(0, 4);
}

function isMessage({ what }: Step): boolean {
  return what === "apdu" || what === "frame";
}

function isAnswerStep(step: Step): boolean {
  return isMessage(step) && /^8[04]/.test(apduOf(step));
}

function isCommand(step: Step): boolean {
  return step.direction === "ECR->PT" && isMessage(step) && !isAnswerStep(step);
}

class Player {
  readonly ends: string[] = [];
  readonly #peer: Peer;
  readonly #session: Session;
  readonly #steps: readonly Step[];
  #lineByte = 0;
  #lastCommand = "";

  constructor(peer: Peer, session: Session, steps: readonly Step[]) {
    this.#peer = peer;
    this.#session = session;
    this.#steps = steps;
  }

  async start(command: Command): Promise<void> {
    await this.#session.whenFree();
    const verdict = sellsGoods(this.#steps) ? "hold" : "accept";
    void this.#session.run(command, { judge: () => verdict }).then(({ end }) => {
      if (command.ends === "completion") this.ends.push(end);
    });
  }

  async step(step: Step): Promise<void> {
    if (step.what === "close") return;
    if (step.direction === "PT->ECR") return await this.#terminal(step);
    if (step.what === "ack" || step.what === "nak") return await this.#lineAnswer(step.what);
    if (!isCommand(step)) {
      this.#decide(apduOf(step));
      await this.#peer.expect(apduOf(step));
      return;
    }
    const control = controlOf(step);
    // The same frame again is a repeat, which the link sends without the session.
    if (this.#lastCommand !== step.hex) {
      const command = commands[control];
      if (!command) throw new Error(`no command ${control}`);
      await this.start(command(this.#steps));
    }
    this.#lastCommand = step.hex ?? "";
    await this.#peer.expect(new RegExp(`^${control}`));
    if (leavesOutAnswers(this.#steps)) this.#peer.send("800000");
  }

  /** Makes the kiosk's decision about the goods, before the answer that carries it. */
  #decide(answer: string): void {
    if (!sellsGoods(this.#steps)) return;
    const amount = /^849d0704(\d{12})$/.exec(answer)?.[1];
    if (answer === "846600") this.#session.decideGoods({ goods: "not-issued" });
    if (amount) {
      this.#session.decideGoods({ goods: "partly-issued", amountMinor: Number(amount) });
    }
  }

  async #terminal(step: Step): Promise<void> {
    this.#peer.sendRaw(step.hex as string);
    if (isAnswerStep(step)) this.#lastCommand = "";
    // Our receiver always sends NAK; one recorded register stayed silent.
    if (step.crcOk === false) await this.#lineAnswer("nak");
    if (leavesOutAnswers(this.#steps)) await this.#peer.expect("800000");
  }

  async #lineAnswer(expected: string): Promise<void> {
    const bytes = () => this.#peer.log.filter((entry) => entry === "ack" || entry === "nak");
    while (bytes().length <= this.#lineByte) await new Promise((done) => setImmediate(done));
    expect(bytes()[this.#lineByte]).toBe(expected);
    this.#lineByte += 1;
  }
}

async function play(vector: Vector, makePeer: () => Promise<Peer>): Promise<string[]> {
  const steps = playable(vector.steps ?? []);
  const { peer, session } = await openSession(makePeer);
  const player = new Player(peer, session, steps);
  const [first] = steps;
  if (first?.direction === "PT->ECR") {
    // The recording begins while a command runs.
    await player.start(authorisation(tenEuro, { printerReady: true }));
    await peer.expect(/^0601/);
    peer.sendRaw(peer.transport.kind === "serial" ? "06 10028000001003f51f" : "800000");
    if (peer.transport.kind === "serial") await new Promise((done) => setImmediate(done));
  }
  let previous: Step | undefined;
  for (const step of steps) {
    // The recorded register's NAK; ours was checked with the broken frame already.
    const isNakOfBadFrame = step.what === "nak" && previous?.crcOk === false;
    if (!isNakOfBadFrame) await player.step(step);
    previous = step;
  }
  const expected = expectedEnds(steps);
  while (player.ends.length < expected.length) await new Promise((done) => setImmediate(done));
  expect(player.ends).toEqual(expected);
  return player.ends;
}

function expectedEnds(steps: readonly Step[]): string[] {
  return steps
    .filter((step) => step.direction === "PT->ECR" && step.crcOk !== false)
    .flatMap((step) => {
      const control = controlOf(step);
      if (control === "060f") return ["completed"];
      return control === "061e" ? ["aborted"] : [];
    });
}

function over(transport: "tcp" | "serial"): (readonly [string, Vector])[] {
  return usedBy("session-against-driver")
    .filter(({ kind }) => kind === `${transport}-session`)
    .map((vector) => [vector.id, vector]);
}

describe.skipIf(!hasVectors)("recorded exchanges over TCP", () => {
  test.each(over("tcp"))("%s", async (_id, vector) => {
    await play(vector, tcpPeer);
  });
});

describe.skipIf(!hasVectors)("recorded exchanges over a serial line", () => {
  test.each(over("serial"))("%s", async (_id, vector) => {
    await play(vector, serialPeer);
  });
});
