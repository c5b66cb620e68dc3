import type { ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { API_LOGIN, apiPassword, readDemoSetup } from "../../src/launcher/demo/settings.ts";
import { findProcesses, programSpecs } from "../../src/launcher/processes/process-table.ts";
import { newId } from "../../src/shared/new-id.ts";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { auditPart, joined, partsOf } from "../../src/tp-manager/audit/audit-journal.ts";
import type { SwitchRecord } from "../../src/update/update-state.ts";
import { makeDelivery, startingWith } from "../launcher/fixtures/test-delivery.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";

/** The longest pause in ms after the begin of a step of a switch until the kill. */
export const stepsOfSwitch = {
  testing: 6_000,
  stopping: 300,
  switching: 10,
  probation: 2_500,
  staying: 200,
  "giving-up": 300,
  "going-back": 10,
  restarting: 1_500,
} as const;
type Step = keyof typeof stepsOfSwitch;

/** The steps that only a version reaches whose programs fail. */
const ofFailure: readonly Step[] = ["giving-up", "going-back", "restarting"];
const failsOnProbation = startingWith(`if (isOnProbation) throw new Error("not here");`);

export interface Plan {
  readonly index: number;
  readonly step: Step;
  /** Whether both programs are killed too. */
  readonly withPrograms: boolean;
  /** Which share of the longest pause passes before the kill. */
  readonly share: number;
}

export interface Killed {
  readonly index: number;
  /** The step at the moment of the kill. */
  readonly step: string;
  readonly withPrograms: boolean;
  /** Whether the new version runs in the end. */
  readonly stays: boolean;
  /** The sales since the kill before. */
  readonly sales: number;
  /** The time from the kill to the answer of the open order. */
  readonly ms: number;
  readonly violations: readonly string[];
}

const WITHIN_MS = 240_000;
const ATTEMPTS = 5;

interface Entry {
  readonly id: number;
  readonly kind: string;
  readonly amountMinor: number;
  /** The charge that a reversal gives back. */
  readonly originalId: number | null;
}

/** A kiosk that repeats each order until it is answered. Each order has an amount of its own. */
class RepeatingKiosk {
  readonly sold = new Map<string, number>();
  readonly violations: string[] = [];
  readonly #data: string;
  #isOpen = true;
  /** Above the amount of the demo's own sale. */
  #amount = 100;
  readonly #run: Promise<void>;

  constructor(data: string) {
    this.#data = data;
    this.#run = this.#sell();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#run;
  }

  async #sell(): Promise<void> {
    while (this.#isOpen) {
      const [orderId, amount] = [`K-${newId()}`, ++this.#amount];
      let status: string | undefined;
      // An order ends with its answer, no matter how often it is asked for.
      while (status !== "Success" && status !== "Failed") {
        status = await this.#ask(orderId, amount);
        if (status === undefined || status === "Unknown") await sleep(systemClock, "again", 100);
      }
      if (status === "Success") this.sold.set(orderId, amount);
      else this.violations.push(`order ${orderId} was answered with ${status}`);
      await sleep(systemClock, "customers", 1_000);
    }
  }

  async #ask(orderId: string, amount: number): Promise<string | undefined> {
    const { localApi } = readDemoSetup(this.#data) ?? { localApi: 0 };
    const authorization = `Basic ${btoa(`${API_LOGIN}:${apiPassword(this.#data)}`)}`;
    const headers = { authorization, "content-type": "application/json" };
    const url = `http://127.0.0.1:${localApi}/payment`;
    const body = JSON.stringify({ orderId, amount });
    try {
      const answer = await fetch(url, { method: "POST", headers, body });
      const [first] = (await answer.json()) as Array<{ status?: string }>;
      return answer.status === 200 ? first?.status : undefined;
    } catch {
      return undefined; // nobody listens, or tp-manager was killed
    }
  }
}

/** An installed demo that takes versions, with a kiosk that never stops asking for payments. */
export class UpdateHouse {
  readonly #folder: string;
  readonly #root: string;
  readonly #data: string;
  readonly #start: (command: string, args: readonly string[]) => ChildProcess;
  #kiosk: RepeatingKiosk | undefined;
  #sales = 0;
  #number = 0;

  constructor(folder: string, start: (command: string, args: readonly string[]) => ChildProcess) {
    this.#folder = folder;
    this.#root = join(folder, "kiosk");
    this.#data = join(this.#root, "data", "demo");
    this.#start = start;
    writeFileSync(join(folder, "root.json"), "{}");
  }

  async open(): Promise<void> {
    this.#make("1.0.0", this.#root);
    writeFileSync(join(this.#root, "current"), "1.0.0\n");
    await demoFolder(this.#data);
    await this.#run("launch.sh", "--demo");
    this.#kiosk = new RepeatingKiosk(this.#data);
  }

  async close(): Promise<void> {
    await Promise.race([this.#kiosk?.close(), sleep(systemClock, "kiosk", 20_000)]);
    await this.#run("launch.sh", "stop");
  }

  /** Begins an update, kills it, lets the keep-alive end it, and looks at the money. */
  async kill(plan: Plan): Promise<Killed> {
    for (let attempt = 1; ; attempt++) {
      const share = plan.share / attempt;
      const struck = await this.#strike({ ...plan, share });
      if (struck === undefined && attempt < ATTEMPTS) continue;
      return await this.#after(plan, struck ?? "missed");
    }
  }

  /** Returns the step in which the kill came; undefined: the update was over before. */
  async #strike({ step, withPrograms, share }: Plan): Promise<string | undefined> {
    const version = `1.${++this.#number}.0`;
    const to = join(this.#folder, version);
    this.#make(version, to, ofFailure.includes(step) ? failsOnProbation : undefined);
    const args = ["update", "--delivery", to, "--data", this.#data];
    const launcher = this.#start("sh", [join(this.#root, "launch.sh"), ...args]);
    const ended = new Promise<void>((resolve) => launcher.once("exit", () => resolve()));
    let isOver = false;
    void ended.then(() => (isOver = true));
    const isThere = await this.#reaches(step, () => isOver);
    if (isThere) await sleep(systemClock, "kill", Math.floor(share * stepsOfSwitch[step]));
    // Stopped, so that the step cannot change before the kill.
    launcher.kill("SIGSTOP");
    const at = this.#record()?.step;
    launcher.kill("SIGKILL");
    if (withPrograms && at !== undefined) {
      for (const spec of programSpecs(this.#data)) {
        for (const pid of findProcesses(spec)) process.kill(pid, "SIGKILL");
      }
    }
    await ended;
    rmSync(to, { recursive: true, force: true });
    return at;
  }

  async #reaches(step: Step, isOver: () => boolean): Promise<boolean> {
    const folder = join(this.#data, "update");
    mkdirSync(folder, { recursive: true });
    const changes = watch(folder);
    const endMs = systemClock.monotonicMs() + WITHIN_MS;
    try {
      for (;;) {
        if (this.#record()?.step === step) return true;
        if (isOver() || systemClock.monotonicMs() > endMs) return false;
        const change = new Promise((resolve) => changes.once("change", resolve));
        await Promise.race([change, sleep(systemClock, "step", 50)]);
        changes.removeAllListeners("change");
      }
    } finally {
      changes.close();
    }
  }

  #record(): SwitchRecord | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#data, "update", "under-way.json"), "utf8"));
    } catch {
      return undefined; // there is none, or it is being replaced
    }
  }

  async #after(plan: Plan, step: string): Promise<Killed> {
    const beganMs = systemClock.monotonicMs();
    const violations: string[] = [];
    const soldBefore = this.#kiosk?.sold.size ?? 0;
    for (let check = 0; this.#isUnderWay() || check === 0; check++) {
      if (check === ATTEMPTS) violations.push("the keep-alive has not ended the update");
      if (check === ATTEMPTS) break;
      await this.#run("always-up.sh");
    }
    const isAnswered = (): boolean => (this.#kiosk?.sold.size ?? 0) > soldBefore;
    while (!isAnswered() && systemClock.monotonicMs() < beganMs + WITHIN_MS) {
      await sleep(systemClock, "sale", 50);
    }
    const ms = systemClock.monotonicMs() - beganMs;
    if (!isAnswered()) violations.push(`no order was answered in ${WITHIN_MS / 1_000} s`);
    violations.push(...(await this.#money()));
    const current = readFileSync(join(this.#root, "current"), "utf8").trim();
    if (!existsSync(join(this.#root, "versions", current, "complete"))) {
      violations.push(`${current} is named and is not whole`);
    }
    const names = readdirSync(join(this.#data, "update")).filter((name) => /prob|under/.test(name));
    if (names.length > 0) violations.push(`left over: ${names.join(", ")}`);
    const sales = (this.#kiosk?.sold.size ?? 0) - this.#sales;
    this.#sales += sales;
    const stays = current === `1.${this.#number}.0`;
    const { index, withPrograms } = plan;
    return { index, step, withPrograms, stays, sales, ms: Math.round(ms), violations };
  }

  #isUnderWay(): boolean {
    const names = ["under-way.json", "probation"];
    return names.some((name) => existsSync(join(this.#data, "update", name)));
  }

  /** Compares the bank, the journal and the gateway with what the kiosk was answered. */
  async #money(): Promise<string[]> {
    const { terminalControl = 0, gateway = 0 } = readDemoSetup(this.#data) ?? {};
    const sold = [...(this.#kiosk?.sold ?? [])];
    const ledger = await fetch(`http://127.0.0.1:${terminalControl}/ledger`);
    const { entries } = (await ledger.json()) as { entries: readonly Entry[] };
    const found = this.#kiosk?.violations.splice(0) ?? [];
    // The terminal itself reverses a charge whose result gets no ACK.
    const reversed = new Set(entries.map(({ originalId }) => originalId));
    const charges = entries.filter(({ id, kind }) => kind === "charge" && !reversed.has(id));
    const timesOf = (amount: number): number =>
      charges.filter(({ amountMinor }) => amountMinor === amount * 100).length;
    for (const { amountMinor } of charges) {
      const times = timesOf(amountMinor / 100);
      if (times > 1) found.push(`${amountMinor / 100} was charged ${times} times`);
    }
    for (const [orderId, amount] of sold) {
      if (timesOf(amount) === 0) found.push(`${orderId} was answered Success and not charged`);
    }
    const journal = join(this.#data, "journal.db");
    const { faults } = joined(partsOf(journal).map((part) => auditPart(journal, part)));
    found.push(...faults.map((fault) => `audit: ${JSON.stringify(fault)}`));
    for (const [orderId] of sold.slice(this.#sales)) {
      const url = `http://127.0.0.1:${gateway}/sandbox/orders?merchantReference=${orderId}`;
      let count = 0;
      for (let tries = 0; count === 0 && tries < 200; tries++) {
        if (tries > 0) await sleep(systemClock, "gateway", 200);
        count = ((await (await fetch(url)).json()) as readonly unknown[]).length;
      }
      if (count !== 1) found.push(`the gateway has ${orderId} ${count} times`);
    }
    return [...new Set(found)];
  }

  #make(version: string, to: string, change: (at: string) => void = () => {}): void {
    makeDelivery({ version, to, trustedRoot: join(this.#folder, "root.json"), change });
  }

  /** Runs a script of the installation to its end, whatever its exit code is. */
  #run(script: string, ...args: readonly string[]): Promise<void> {
    const child = this.#start("sh", [join(this.#root, script), ...args, "--data", this.#data]);
    return new Promise((resolve) => child.once("exit", () => resolve()));
  }
}
