import { newId } from "../../shared/new-id.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { type Clock, isoTime, type Timer, within } from "../../shared/time.ts";
import type { SupervisorStatus } from "../intake/supervisor-status.ts";
import type {
  BrokerConnection,
  BrokerFiles,
  BrokerSettings,
  ConnectToBroker,
  Incoming,
  LostBecause,
  Outgoing,
  Sent,
} from "./broker.ts";
import {
  allowed,
  type ContentOf,
  FLEET_VERSION,
  type FleetName,
  fleetDocuments,
  type StateNow,
  topicOf,
} from "./documents.ts";
import type { FleetStore, QueuedDocument } from "./fleet-store.ts";

interface LinkParts {
  readonly broker: Omit<BrokerSettings, keyof BrokerFiles>;
  readonly installation?: string | undefined;
  /** Returns the certificates, always the same object until they change; undefined: none usable. */
  readonly files: () => BrokerFiles | undefined;
  readonly connect: ConnectToBroker;
  readonly onRequest: (message: Incoming) => void;
  /** FLEET_LABELS, which every document carries. */
  readonly labels: Readonly<Record<string, string>>;
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly random: () => number;
}

/** The number of consecutive failures to connect of which only the first is logged. */
const LOGGED_EVERY = 20;
/** How long a connection has to last so that the wait before the next try is short again. */
const STEADY_MS = 60_000;
/**
 * How many consecutive short connections show that another client uses our name (a twin), and how
 * many closed tries that the broker refuses the kiosk.
 */
const SHORT_MAX = 3;
/** How long the broker may take to accept the last state when the program stops. */
const FAREWELL_MS = 1_000;
/** How many replies are stored without a connection: the replies of an hour. */
const REPLIES_MAX = 30;

/** Publishes the kiosk's state and queued documents over one connection (docs/fleet.md 3.1). */
export class FleetLink {
  readonly #parts: LinkParts;
  #connection: BrokerConnection | undefined;
  #connectedMs = 0;
  /** When the connection began, on the monotonic clock. */
  #onlineSinceMs = 0;
  /** Whether the broker has accepted the kiosk since the start of the program. */
  #wasOnline = false;
  /** The number of consecutive connections that ended soon after they began. */
  #short = 0;
  #failures = 0;
  #files: BrokerFiles | undefined;
  /** How often sending the queue has failed in a row; each failure doubles the wait. */
  #faults = 0;
  #retry: Timer | undefined;
  #status: NonNullable<SupervisorStatus["fleet"]>;
  #now: StateNow | undefined;
  #published = "";
  /** How often a connection was lost since the program started. */
  losses = 0;
  #sentUpTo = 0;
  #flying = 0;
  readonly #done: number[] = [];
  readonly #replies: Outgoing[] = [];
  #stopped = false;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    this.#status = { fault: "not connected yet", refused: false, sinceMs: parts.clock.now() };
  }

  get isOnline(): boolean {
    return this.#connection !== undefined;
  }

  get status(): SupervisorStatus["fleet"] {
    return this.#status;
  }

  start(): void {
    void this.#try();
  }

  /** Publishes the state if it has changed, and sends queued documents. */
  set(now: StateNow): void {
    this.#now = now;
    this.#publishState();
    this.#guarded(() => this.#pump());
  }

  /** Sends queued documents, as many as the broker accepts at once. */
  #pump(): void {
    for (let expired = 1; expired > 0; ) {
      this.#forgetDone();
      const connection = this.#connection;
      if (!connection || this.#stopped) return;
      const room = connection.window - this.#flying;
      const next = room <= 0 ? [] : this.#parts.store.after(this.#sentUpTo, room);
      expired = next.filter((document) => !this.#send(connection, document)).length;
    }
  }

  /** Sends a document; false: the document has expired or is unreadable, and is dropped. */
  #send(connection: BrokerConnection, { sequence, name, content, atMs }: QueuedDocument): boolean {
    const { store, clock } = this.#parts;
    this.#sentUpTo = sequence;
    // The age is at least 0, so that a clock that was set back does not let a document live longer.
    const ageSeconds = Math.max(Math.floor((clock.now() - atMs) / 1000), 0);
    const expirySeconds = name === undefined ? 0 : fleetDocuments[name].expirySeconds;
    const leftSeconds = expirySeconds === null ? null : expirySeconds - ageSeconds;
    if (name === undefined || (leftSeconds !== null && leftSeconds <= 0)) {
      store.count("dropped");
      this.#done.push(sequence);
      return false;
    }
    this.#flying++;
    const message = this.#message(name, { ...content, sequence }, leftSeconds);
    void connection.send(message).then((sent) => {
      if (connection !== this.#connection || sent === "lost") return;
      this.#guarded(() => {
        if (sent === "refused") store.count("dropped");
        this.#flying--;
        this.#done.push(sequence);
        // Documents that got their PUBACK wait here, so that one commit deletes several of them.
        if (this.#flying === 0 || this.#done.length >= connection.window / 2) this.#pump();
      });
    });
    return true;
  }

  /** Runs `work`; a full disk or a damaged queue ends the connection and not the program. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      const { log } = this.#parts;
      log.warn({ err: error }, "could not use the fleet's queue, so its connection is closed");
      const connection = this.#connection;
      if (!connection || this.#stopped) return;
      this.#failures = this.#faults++;
      this.#lost("failed", "the queue of the kiosk cannot be used");
      // The broker publishes no last will after an orderly end, so the kiosk sends "lost" as state.
      void connection.send(this.#state("lost", null));
      void connection.close();
    }
  }

  /** Sends a reply, which waits until there is a connection. */
  async reply(content: ContentOf<"reply">): Promise<void> {
    const { expirySeconds } = fleetDocuments.reply;
    await this.#reply(this.#message("reply", { ...this.#head(), ...content }, expirySeconds));
  }

  /** Sends a document that the caller keeps; "lost": there is no connection, or it was lost. */
  async deliver(name: FleetName, document: object, expirySeconds: number): Promise<Sent> {
    if (this.#stopped) return "lost";
    const message = this.#message(name, document, expirySeconds);
    return (await this.#connection?.send(message)) ?? "lost";
  }

  async #reply(message: Outgoing): Promise<void> {
    const sent = (await this.#connection?.send(message)) ?? "lost";
    if (sent !== "lost") return;
    this.#replies.push(message);
    if (this.#replies.length > REPLIES_MAX) this.#replies.shift();
  }

  repeatState(): void {
    this.#published = "";
    this.#publishState();
  }

  /** Connects anew if the certificates have changed; called while no payment runs. */
  async renew(): Promise<void> {
    const { files, clock, log } = this.#parts;
    const isTrying = this.#connection === undefined && this.#retry === undefined;
    if (files() === this.#files || isTrying || this.#stopped) return;
    log.info("the supervisor connects to the fleet's broker with changed certificates");
    const connection = this.#connection;
    this.#connection = undefined;
    this.#retry?.clear();
    this.#retry = undefined;
    if (connection) {
      // An orderly end has no last will, and the broker may refuse the new certificate.
      const sent = connection.send(this.#state("lost", null));
      await within(clock, "fleet farewell", FAREWELL_MS, sent);
      await connection.close();
    }
    if (!this.#stopped) await this.#try();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.clear();
    const connection = this.#connection;
    this.#connection = undefined;
    this.#forgetDone();
    if (!connection) return;
    const sent = connection.send(this.#state("stopped", null));
    await within(this.#parts.clock, "fleet farewell", FAREWELL_MS, sent);
    await connection.close();
  }

  async #try(): Promise<void> {
    const { broker, connect, onRequest, clock, log } = this.#parts;
    this.#retry = undefined;
    const files = this.#parts.files();
    this.#files = files;
    let lost: readonly [LostBecause, string] | undefined;
    let connection: BrokerConnection | undefined;
    this.#connectedMs = clock.now();
    const listener = {
      lost: (because: LostBecause, text: string): void => {
        lost = [because, text];
        if (connection && connection === this.#connection) this.#lostOnline(because, text);
      },
      received: onRequest,
    };
    try {
      if (!files) throw new Error("the certificates for the broker cannot be used");
      connection = await connect({ ...broker, ...files }, this.#state("lost", null), listener);
      if (lost) throw new Error(lost[1]);
      if (this.#stopped) return void (await connection.close());
    } catch (error) {
      if (!this.#stopped) this.#lostEarly(lost?.[0] ?? "failed", (error as Error).message);
      return;
    }
    const details = { tries: this.#failures + 1, kiosk: broker.kiosk };
    log.info(details, "the supervisor has connected to the fleet's broker");
    this.#onlineSinceMs = clock.monotonicMs();
    this.#connection = connection;
    this.#wasOnline = true;
    this.#status = { fault: null, refused: false, sinceMs: clock.now() };
    this.#sentUpTo = 0;
    this.#flying = 0;
    this.#published = "";
    this.#publishState();
    for (const reply of this.#replies.splice(0)) void this.#reply(reply);
    this.#guarded(() => this.#pump());
  }

  /**
   * Handles the loss of a connection that was not accepted. RabbitMQ 3.10 refuses MQTT 5 without an
   * answer; a broker that has accepted this kiosk since the start has another reason to close.
   */
  #lostEarly(because: LostBecause, text: string): void {
    const isRefusal = because === "closed" && !this.#wasOnline && this.#failures >= SHORT_MAX - 1;
    this.#lost(isRefusal ? "refused" : because, text);
  }

  /**
   * Handles the loss of an accepted connection. Some brokers do not report that another client uses
   * our name: mosquitto 2.0.11 only closes the connection, again and again.
   */
  #lostOnline(because: LostBecause, text: string): void {
    this.losses++;
    const isSteady = this.#parts.clock.monotonicMs() - this.#onlineSinceMs >= STEADY_MS;
    if (isSteady) this.#failures = 0;
    this.#short = isSteady ? 0 : this.#short + 1;
    const isTwin = because === "closed" && this.#short >= SHORT_MAX;
    this.#lost(isTwin ? "twin" : because, text);
  }

  #lost(because: LostBecause, text: string): void {
    const { clock, log, random, installation } = this.#parts;
    this.#connection = undefined;
    this.#failures++;
    const says = because === "twin" ? twinText(this.#short >= SHORT_MAX) : text;
    const waitMs = reconnectDelayMs(because, this.#failures, random());
    const { fault, refused, sinceMs } = this.#status;
    const isSame = fault !== null && refused === (because === "refused");
    this.#status = {
      fault: says,
      refused: because === "refused",
      sinceMs: isSame ? sinceMs : clock.now(),
    };
    const details = { tries: this.#failures, waitMs: Math.round(waitMs) };
    if (because === "twin") log.error({ alarm: "fleet-twin", installation, ...details }, says);
    else if (this.#failures % LOGGED_EVERY === 1 || (because === "refused" && !isSame)) {
      log.warn(details, `there is no connection to the fleet's broker: ${says}`);
    }
    this.#retry = clock.startTimer("fleet reconnect", waitMs, () => void this.#try());
  }

  #forgetDone(): void {
    const { store, log } = this.#parts;
    if (this.#done.length === 0) return;
    try {
      store.forget(this.#done.splice(0));
      this.#faults = 0;
    } catch (error) {
      const says = "could not note that documents were sent; the fleet may get them again";
      log.warn({ err: error }, says);
    }
  }

  #publishState(): void {
    const connection = this.#connection;
    if (!connection || !this.#now || this.#stopped) return;
    const text = JSON.stringify(this.#now);
    if (text === this.#published) return;
    this.#published = text;
    if (allowed(fleetDocuments.state.schema.shape.now, this.#now) !== null) {
      void connection.send(this.#state("online", this.#now));
    } else this.#parts.log.warn("the state of the kiosk is not as its schema says");
  }

  #state(connection: "online" | "stopped" | "lost", now: StateNow | null): Outgoing {
    const { installation } = this.#parts;
    const facts = { connection, since: isoTime(this.#connectedMs), installation, now };
    return this.#message("state", { ...this.#head(), ...facts }, null);
  }

  #head() {
    const { broker, clock } = this.#parts;
    const at = isoTime(clock.now());
    return { version: FLEET_VERSION, id: newId(), kiosk: broker.kiosk, at };
  }

  #message(name: FleetName, document: object, expirySeconds: number | null): Outgoing {
    const { broker, labels } = this.#parts;
    const topic = topicOf(broker.kiosk, name);
    const { retained } = fleetDocuments[name];
    const labelled = Object.keys(labels).length === 0 ? document : { ...document, labels };
    return { topic, payload: JSON.stringify(labelled), retained, expirySeconds };
  }
}

function twinText(isGuessed: boolean): string {
  const says = isGuessed
    ? "the broker ends each connection, as if another client had the FLEET_ID of this kiosk"
    : "another client at the broker has the FLEET_ID of this kiosk";
  return `${says}: find it by its address in the broker's log, then follow docs/fleet.md 3.5`;
}

const FIRST_MS = 1_000;
/** The time over which kiosks spread their first tries to connect after the broker's restart. */
const SPREAD_MS = 30_000;
const LONGEST_MS = 15 * 60_000;
/** The longest wait before the first tries to connect again while another client uses our name. */
const TWIN_MS = 10 * 60_000;

/**
 * Returns how long to wait before the next try: a random time between a shortest wait, which
 * doubles with each failure up to half of the longest, and a longest wait. A thousand kiosks thus
 * return over {@link SPREAD_MS} after a short outage, and evenly over LONGEST_MS after a long one.
 */
export function reconnectDelayMs(because: LostBecause, failures: number, random: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(Math.max(failures - 1, 0), 20);
  const atLeast = because === "twin" ? TWIN_MS : SPREAD_MS;
  const ceiling = Math.max(Math.min(doubled, LONGEST_MS), atLeast);
  const least = because === "twin" ? ceiling / 2 : Math.min(doubled, ceiling / 2);
  return least + (ceiling - least) * random;
}
