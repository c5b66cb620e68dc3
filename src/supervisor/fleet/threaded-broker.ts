import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../../shared/time.ts";
import { programFile } from "../../shared/version-files.ts";
import {
  type BrokerConnection,
  BrokerFault,
  type BrokerListener,
  type BrokerSettings,
  type ConnectToBroker,
  type FromThread,
  type Outgoing,
  type Sent,
  type ToThread,
} from "./broker.ts";
import type { LostBecause } from "./reconnect-policy.ts";

/** Above the limits that the thread itself has for a connection and its subscription. */
const CONNECT_LIMIT_MS = 75_000;
/** A thread that is asked answers before it is asked again. */
const ALIVE_EVERY_MS = 30_000;
const CLOSE_LIMIT_MS = 1_500;
/** Megabytes; the connection needs a few. */
const HEAP_MAX_MB = 64;
const YOUNG_GENERATION_MB = 4;

/**
 * Connects as {@link ConnectToBroker} says, with the package in a thread of its own: whatever it
 * throws, computes or hoards ends that thread and its connection, and nothing else
 * (docs/fleet.md 4.3).
 */
export function threadedConnector(
  clock: Clock,
  script: string = programFile("fleet-broker"),
): ConnectToBroker {
  return (settings, will, listener) =>
    new Promise((resolve, reject) => {
      const thread = new BrokerThread(script, { settings, will }, clock, listener);
      thread.begin((fault) => {
        if (fault === undefined) resolve(thread);
        else reject(new BrokerFault(fault));
      });
    });
}

class BrokerThread implements BrokerConnection {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #listener: BrokerListener;
  readonly #unanswered = new Map<number, (sent: Sent) => void>();
  window = 1;
  #lastId = 0;
  #timer: Timer | undefined;
  /** Until it is connected or has failed. */
  #begun: ((fault?: string) => void) | undefined;
  #closed: (() => void) | undefined;
  #isOver = false;

  constructor(
    script: string,
    workerData: { readonly settings: BrokerSettings; readonly will: Outgoing },
    clock: Clock,
    listener: BrokerListener,
  ) {
    this.#clock = clock;
    this.#listener = listener;
    this.#worker = new Worker(script, {
      workerData,
      // Lines that the package prints have no place in the output of the program.
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: HEAP_MAX_MB,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      },
    });
  }

  begin(begun: (fault?: string) => void): void {
    this.#begun = begun;
    const worker = this.#worker;
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on("message", (word: FromThread) => this.#take(word));
    worker.on("messageerror", ({ message }) => this.#lose("trouble", message));
    worker.on("error", (error) => this.#lose("trouble", `its thread has failed: ${String(error)}`));
    worker.on("exit", () => this.#lose("trouble", "its thread has ended"));
    this.#wait(CONNECT_LIMIT_MS, () => this.#lose("trouble", "its thread does not answer"));
  }

  send(message: Outgoing): Promise<Sent> {
    if (this.#isOver) return Promise.resolve("lost");
    return new Promise((resolve) => {
      const id = ++this.#lastId;
      this.#unanswered.set(id, resolve);
      this.#tell({ say: "send", id, message });
    });
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const ended = Promise.withResolvers<void>();
    this.#closed = ended.resolve;
    this.#wait(CLOSE_LIMIT_MS, ended.resolve);
    this.#tell({ say: "close" });
    await ended.promise;
    this.#timer?.clear();
    await this.#worker.terminate();
  }

  #take(word: FromThread): void {
    if (this.#isOver && word.say !== "closed") return;
    switch (word.say) {
      case "closed":
        this.#closed?.();
        break;
      case "connected":
        this.window = word.window;
        this.#askWhetherAlive();
        this.#begun?.();
        this.#begun = undefined;
        break;
      case "sent":
        this.#unanswered.get(word.id)?.(word.sent);
        this.#unanswered.delete(word.id);
        break;
      case "received":
        this.#listener.received({
          payload: Buffer.from(word.payload),
          retained: word.retained,
        });
        break;
      case "failed":
        this.#lose("trouble", word.words);
        break;
      case "lost":
        this.#lose(word.because, word.words);
        break;
      case "alive":
        this.#askWhetherAlive();
        break;
    }
  }

  #askWhetherAlive(): void {
    this.#wait(ALIVE_EVERY_MS, () => {
      this.#wait(ALIVE_EVERY_MS, () => this.#lose("trouble", "its thread does not answer"));
      this.#tell({ say: "alive" });
    });
  }

  #lose(because: LostBecause, words: string): void {
    this.#closed?.();
    if (this.#isOver) return;
    this.#end();
    void this.#worker.terminate();
    this.#listener.lost(because, words);
    this.#begun?.(words);
  }

  #end(): void {
    this.#isOver = true;
    this.#timer?.clear();
    for (const end of this.#unanswered.values()) end("lost");
    this.#unanswered.clear();
  }

  #wait(ms: number, late: () => void): void {
    this.#timer?.clear();
    this.#timer = this.#clock.startTimer("fleet thread", ms, late);
  }

  #tell(word: ToThread): void {
    this.#worker.postMessage(word);
  }
}
