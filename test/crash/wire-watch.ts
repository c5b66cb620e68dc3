import { get, type IncomingMessage } from "node:http";

/** A wire event of the simulated terminal; see its README. */
export interface WireEvent {
  readonly seq: number;
  readonly what: string;
  readonly direction?: "in" | "out";
  readonly message?: string;
  readonly command?: string;
  readonly phase?: string;
}

/** Listens to what happens on the terminal's wire, as it happens. */
export class WireWatch {
  readonly #response: IncomingMessage;
  #heard: (event: WireEvent) => void = () => {};

  private constructor(response: IncomingMessage) {
    this.#response = response;
    let rest = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#heard(JSON.parse(line) as WireEvent);
    });
    // The terminal is killed now and then.
    response.on("error", () => {});
  }

  static open(control: string): Promise<WireWatch> {
    return new Promise((resolve, reject) => {
      get(`${control}/events`, (response) => resolve(new WireWatch(response))).once(
        "error",
        reject,
      );
    });
  }

  /** From now on every event goes to `heard`, and to nobody else. */
  listen(heard: (event: WireEvent) => void): void {
    this.#heard = heard;
  }

  close(): void {
    this.#heard = () => {};
    this.#response.destroy();
  }
}
