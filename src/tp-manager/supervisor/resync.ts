import { BrokenInvariant } from "../../shared/invariant.ts";
import { STORE_PAGE_MAX } from "../../shared/ipc/contract.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { Retrying } from "../../shared/process/retrying.ts";
import type { Clock } from "../../shared/time.ts";
import type { ResyncPage, ResyncRows } from "../journal/hand-off-rows.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MS = 5_000;
/** The pause between two checks whether the journal is whole; no resync ends before it is. */
const WHOLE_CHECK_MS = 30_000;

/**
 * Hands every transaction off again after the supervisor's database was lost or restored, with the
 * delivery state that the journal knows (docs/rules/29-supervisor-loss.md). It sends one page at a
 * time and stores its position on disk. Payments continue meanwhile.
 */
export class Resync {
  readonly #store: ResyncRows;
  readonly #link: SupervisorLink;
  readonly #log: AlarmLog;
  readonly #isWhole: () => boolean;
  readonly #task: Retrying;
  /** How many resyncs this process has begun, which shows whether another one began meanwhile. */
  #begun = 0;

  /** `isWhole` returns whether the journal has no gap; it is not called before {@link start}. */
  constructor(
    store: ResyncRows,
    link: SupervisorLink,
    clock: Clock,
    log: AlarmLog,
    isWhole: () => boolean,
  ) {
    this.#store = store;
    this.#link = link;
    this.#log = log;
    this.#isWhole = isWhole;
    this.#task = new Retrying(clock, "resync", () => this.#run());
  }

  /** Continues a resync that an earlier process did not finish. */
  start(): void {
    this.#task.nudge();
  }

  /** Begins a resync unless one is under way, whose reason may be the same loss. */
  beginOnce(): void {
    if (!this.#store.isUnderWay) this.begin();
  }

  /** Begins a resync after the supervisor lost its database. The begin is on disk on return. */
  begin(): void {
    this.#store.begin();
    this.#begun += 1;
    const text =
      "supervisor.db was lost or is an older copy, or may be: everything is handed off again; " +
      "what is not known to be at the gateway is looked up before it is sent";
    this.#log.error({ alarm: "outbox-lost" }, text);
    // The first resync starts as soon as the loss is known, each further resync after a pause.
    this.#task.nudgeIn(this.#begun === 1 ? 0 : RETRY_MS);
  }

  close(): Promise<void> {
    return this.#task.close();
  }

  async #run(): Promise<number | undefined> {
    try {
      for (;;) {
        const page = this.#store.page(STORE_PAGE_MAX);
        if (!page || this.#task.isClosed) return undefined;
        // A journal with a gap does not know whether everything was handed off, so the last page of
        // the resync waits until the journal is whole, even across restarts.
        const last = page.last && this.#isWhole();
        if (page.items.length > 0 || last) await this.#hand({ ...page, last });
        if (page.last && !last) return WHOLE_CHECK_MS;
      }
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      const text = "a page of the resync was not accepted or not read, and is handed off again";
      this.#log.warn({ err: error }, text);
      return RETRY_MS;
    }
  }

  async #hand(page: ResyncPage): Promise<void> {
    const { items, last } = page;
    const begun = this.#begun;
    const { added } = await this.#link.call("take-over", { items: [...items], last });
    // If the answer began another resync, the database with the earlier pages was lost as well.
    if (begun === this.#begun) this.#store.taken(page);
    const text = "the supervisor accepted a page of the resync";
    this.#log.info({ items: items.length, added, last }, text);
  }
}
