import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { type ChildProgram, until } from "../programs/child-program.ts";

/** What a program must be started with, so that its heap can be inspected. */
export const inspectSwitches = ["--inspect=127.0.0.1:0"] as const;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly chunk?: string };
  readonly result?: Readonly<Record<string, number>>;
}

/** The heap of another process, over the inspector of Node.js. */
export class InspectedHeap {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (result: Readonly<Record<string, number>>) => void>();
  #onChunk: (chunk: string) => void = () => {};
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(String(data))));
  }

  static async of(program: ChildProgram): Promise<InspectedHeap> {
    const url = await until("the inspector listens", () => {
      return /Debugger listening on (ws:\S+)/.exec(program.output)?.[1];
    });
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    return new InspectedHeap(socket);
  }

  /** Bytes in use after everything unused was collected, buffers outside the heap included. */
  async usedBytes(): Promise<number> {
    // A collection frees what hangs on finalisers only at the next one.
    for (let i = 0; i < 3; i++) await this.#call("HeapProfiler.collectGarbage");
    const usage = await this.#call("Runtime.getHeapUsage");
    return (usage["usedSize"] ?? 0) + (usage["backingStorageSize"] ?? 0);
  }

  /** Writes a snapshot that the developer tools of a browser open. */
  async snapshot(path: string): Promise<void> {
    const file = createWriteStream(path);
    this.#onChunk = (chunk) => void file.write(chunk);
    await this.#call("HeapProfiler.takeHeapSnapshot");
    await finished(file.end());
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<Readonly<Record<string, number>>> {
    return new Promise((resolve) => {
      this.#sent += 1;
      this.#answers.set(this.#sent, resolve);
      this.#socket.send(JSON.stringify({ id: this.#sent, method }));
    });
  }

  #take({ id, method, params, result }: Message): void {
    if (method === "HeapProfiler.addHeapSnapshotChunk") this.#onChunk(params?.chunk ?? "");
    if (id === undefined) return;
    this.#answers.get(id)?.(result ?? {});
    this.#answers.delete(id);
  }
}
