import { STORE_PAGE_MAX } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { Retrying } from "../../shared/process/retrying.ts";
import type { Clock } from "../../shared/time.ts";
import type { AgainPage, AgainRows } from "../journal/hand-off-rows.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MS = 5_000;
/** How often a resync that waits for its end checks whether the journal is whole again. */
const WHOLE_CHECK_MS = 30_000;

/**
 * Hands everything off once more after the supervisor's database was lost or restored, with the
 * delivery state that the journal knows (docs/rules/17-loss.md). A page at a time; the position is
 * on disk. Sales go on meanwhile.
 */
export class Resync {
  readonly #store: AgainRows;
  readonly #link: SupervisorLink;
  readonly #log: Logger;
  readonly #isWhole: () => boolean;
  readonly #task: Retrying;
  /** How often a resync was begun in this process. */
  #begun = 0;

  /** `isWhole` returns whether the journal lacks nothing; it is asked from {@link start} on. */
  constructor(
    store: AgainRows,
    link: SupervisorLink,
    clock: Clock,
    log: Logger,
    isWhole: () => boolean,
  ) {
    this.#store = store;
    this.#link = link;
    this.#log = log;
    this.#isWhole = isWhole;
    this.#task = new Retrying(clock, "resync", () => this.#run());
  }

  /** Goes on where a former process stopped. */
  start(): void {
    this.#task.nudge();
  }

  /** Begins a resync unless one is under way, which may be due to the same loss. */
  beginOnce(): void {
    if (!this.#store.isUnderWay) this.begin();
  }

  /** Begins a resync after a loss of the supervisor's database. On disk when it returns. */
  begin(): void {
    this.#store.begin();
    this.#begun += 1;
    const text =
      "supervisor.db was lost or is an older copy, or may be: everything is handed off again; " +
      "what is not known to be at the gateway is looked up before it is sent";
    this.#log.error({ alarm: "outbox-lost" }, text);
    // Runs after the message that reported the loss; after a pause where a loss is reported again.
    this.#task.nudgeIn(this.#begun === 1 ? 0 : RETRY_MS);
  }

  close(): Promise<void> {
    return this.#task.close();
  }

  async #run(): Promise<number | undefined> {
    try {
      for (let page = this.#next(); page && !this.#task.isClosed; page = this.#next()) {
        // A journal with a gap cannot say that everything was handed off, so the last page waits
        // until the journal is whole, however many restarts later.
        const last = page.last && this.#isWhole();
        if (page.items.length > 0 || last) await this.#hand({ ...page, last });
        if (page.last && !last) return WHOLE_CHECK_MS;
      }
      return undefined;
    } catch (error) {
      this.#log.warn(
        { err: error },
        "the supervisor did not take a page of a resync: the page is handed off again",
      );
      return RETRY_MS;
    }
  }

  async #hand(page: AgainPage): Promise<void> {
    const { items, last } = page;
    const begun = this.#begun;
    const { added } = await this.#link.call("take-over", { items: [...items], last });
    // Not when the answer showed that the database with the earlier pages is lost as well.
    if (begun === this.#begun) this.#store.taken(page);
    this.#log.info({ items: items.length, added, last }, "handed off again");
  }

  #next(): AgainPage | undefined {
    return this.#store.page(STORE_PAGE_MAX);
  }
}
