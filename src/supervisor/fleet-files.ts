import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Config } from "../shared/config/config.ts";
import { certificatesIn, readGiven, trustedWith } from "../shared/config/server-trust.ts";
import type { SupervisorAnswer } from "../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import type { Clock } from "../shared/time.ts";
import type { BrokerFiles } from "./fleet/broker.ts";

const READ_EVERY_MS = 60_000;

/**
 * The files by which a kiosk and its broker prove themselves (docs/fleet.md 2.2). They are read
 * again each minute; changed ones count as soon as all of them can be used together. No fault of
 * theirs ends the supervisor, which sends charged transactions without a broker too.
 */
export class FleetFiles {
  readonly #config: Partial<Config>;
  readonly #clock: Clock;
  #used: ReturnType<typeof usable> | undefined;
  #readAtMs: number;
  #isFaulty = false;
  #fault: SupervisorAnswer<"status">["fleetFiles"] = null;

  constructor(config: Partial<Config>, clock: Clock) {
    [this.#config, this.#clock] = [config, clock];
    this.#readAtMs = clock.monotonicMs();
    this.#read();
  }

  /** The files that are used; another object after each change. Undefined: none can be used yet. */
  get current(): (BrokerFiles & ReturnType<typeof filesOf>) | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs >= READ_EVERY_MS) {
      this.#readAtMs = nowMs;
      this.#read();
    }
    return this.#used;
  }

  /** Why the files cannot be used as they are now. */
  get fault(): SupervisorAnswer<"status">["fleetFiles"] {
    return this.#fault;
  }

  #read(): void {
    try {
      const found = filesOf(this.#config);
      requirePair(found);
      [this.#isFaulty, this.#fault] = [false, null];
      const { own, key, authorities } = this.#used ?? {};
      const isSame = JSON.stringify(found) === JSON.stringify({ own, key, authorities });
      if (!isSame) this.#used = usable(found);
    } catch (error) {
      // Two files are replaced one after the other, so only at the start a single reading counts.
      const reason = (error as Error).message;
      const { sinceMs = this.#clock.now() } = this.#fault ?? {};
      if (this.#isFaulty || !this.#used) this.#fault = { reason, sinceMs };
      this.#isFaulty = true;
    }
  }
}

function filesOf({ FLEET_KEY_FILE: keyFile, ...config }: Partial<Config>) {
  const own = certificatesIn("FLEET_CERT_FILE", config.FLEET_CERT_FILE);
  const authorities = certificatesIn("FLEET_CA_FILE", config.FLEET_CA_FILE);
  return { own, key: keyFile && keyIn(keyFile), authorities };
}

function usable(files: ReturnType<typeof filesOf>) {
  const certificate = files.own.join("\n") || undefined;
  return { ...files, certificate, trusted: trustedWith(files.authorities) };
}

function keyIn(path: string): string {
  const text = readGiven("FLEET_KEY_FILE", path);
  try {
    createPrivateKey(text);
    return text;
  } catch {
    const why = `FLEET_KEY_FILE ${path} holds no key in PEM form without a passphrase`;
    throw new ProgramExit(exitCodes.configuration, why);
  }
}

function requirePair({ own: [first], key }: ReturnType<typeof filesOf>): void {
  if (first === undefined || key === undefined) return;
  if (new X509Certificate(first).checkPrivateKey(createPrivateKey(key))) return;
  throw new Error(
    "the key of FLEET_KEY_FILE does not belong to the certificate of FLEET_CERT_FILE",
  );
}
