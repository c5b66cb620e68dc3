import { Worker } from "node:worker_threads";
import { type Clock, type Timer, within } from "../../shared/time.ts";
import { programFile } from "../../shared/version-files.ts";
import type {
  BrokerConnection,
  BrokerListener,
  ConnectToBroker,
  FromThread,
  LostBecause,
  Outgoing,
  Sent,
  ThreadTask,
  ToThread,
} from "./broker.ts";

/** The longest time until the thread has connected, above the time limits inside the thread. */
const CONNECT_LIMIT_MS = 75_000;
/** The pause between two checks that the thread lives, and the longest wait for its answer. */
const ALIVE_EVERY_MS = 30_000;
const CLOSE_LIMIT_MS = 1_500;
/** The limit of the thread's heap; a connection needs a few megabytes. */
const HEAP_MAX_MB = 64;
const YOUNG_GENERATION_MB = 4;

/**
 * Returns a function that connects in a thread of its own (docs/fleet.md 4.3). A fault of the mqtt
 * package, such as an exception, an endless loop or a full heap, ends only that thread.
 */
export function threadedConnector(
  clock: Clock,
  script: string = programFile("fleet-broker"),
): ConnectToBroker {
  return (settings, will, listener) =>
    new BrokerThread(script, { settings, will }, clock, listener).connected.promise;
}

class BrokerThread implements BrokerConnection {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #listener: BrokerListener;
  readonly #unanswered = new Map<number, (sent: Sent) => void>();
  window = 1;
  #lastId = 0;
  #timer: Timer | undefined;
  readonly connected = Promise.withResolvers<BrokerConnection>();
  readonly #closed = Promise.withResolvers<void>();
  #isOver = false;

  constructor(script: string, workerData: ThreadTask, clock: Clock, listener: BrokerListener) {
    this.#clock = clock;
    this.#listener = listener;
    const worker = new Worker(script, {
      workerData,
      // The program's output must not contain lines that the mqtt package prints.
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: HEAP_MAX_MB,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      },
    });
    this.#worker = worker;
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on("message", (message: FromThread) => this.#take(message));
    worker.on("messageerror", ({ message }) => this.#lose("failed", message));
    worker.on("error", (error) => this.#lose("failed", `its thread has failed: ${String(error)}`));
    worker.on("exit", () => this.#lose("failed", "its thread has ended"));
    this.#wait(CONNECT_LIMIT_MS, () => this.#lose("failed", "its thread does not answer"));
  }

  send(message: Outgoing): Promise<Sent> {
    if (this.#isOver) return Promise.resolve("lost");
    return new Promise((resolve) => {
      const id = ++this.#lastId;
      this.#unanswered.set(id, resolve);
      this.#post({ say: "send", id, message });
    });
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    this.#post({ say: "close" });
    await within(this.#clock, "fleet thread", CLOSE_LIMIT_MS, this.#closed.promise);
    await this.#worker.terminate();
  }

  #take(message: FromThread): void {
    if (this.#isOver && message.say !== "closed") return;
    switch (message.say) {
      case "closed":
        this.#closed.resolve();
        break;
      case "connected":
        this.window = message.window;
        this.#askWhetherAlive();
        this.connected.resolve(this);
        break;
      case "sent":
        this.#unanswered.get(message.id)?.(message.sent);
        this.#unanswered.delete(message.id);
        break;
      case "received":
        this.#listener.received({ ...message, payload: Buffer.from(message.payload) });
        break;
      case "lost":
        this.#lose(message.because, message.text);
        break;
      case "alive":
        this.#askWhetherAlive();
        break;
    }
  }

  #askWhetherAlive(): void {
    this.#wait(ALIVE_EVERY_MS, () => {
      this.#wait(ALIVE_EVERY_MS, () => this.#lose("failed", "its thread does not answer"));
      this.#post({ say: "alive" });
    });
  }

  #lose(because: LostBecause, text: string): void {
    this.#closed.resolve();
    if (this.#isOver) return;
    this.#end();
    void this.#worker.terminate();
    this.#listener.lost(because, text);
    this.connected.reject(new Error(text));
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

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}
