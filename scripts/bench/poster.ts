import { Agent, request } from "node:http";
import { systemClock } from "../../src/shared/time.ts";

/** A kiosk that pays over connections that stay open. */
export class Poster {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #authorization: string;

  constructor(password: string) {
    this.#authorization = `Basic ${btoa(`kiosk:${password}`)}`;
  }

  /** Milliseconds from the POST to its answer. Rejects when it is no payment that went well. */
  async pay(url: string, orderId: string): Promise<number> {
    const startedMs = systemClock.monotonicMs();
    const text = await this.#post(url, JSON.stringify({ amount: 10, orderId }));
    const ms = systemClock.monotonicMs() - startedMs;
    const [one] = JSON.parse(text) as [{ status: string; notificationGatewaySent: boolean }];
    if (one.status !== "Success" || !one.notificationGatewaySent) {
      throw new Error(`a payment was answered with ${text}`);
    }
    this.last = text;
    return ms;
  }

  /** The last answer. */
  last = "";

  close(): void {
    this.#agent.destroy();
  }

  #post(url: string, body: string): Promise<string> {
    const headers = {
      authorization: this.#authorization,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      const options = { method: "POST", agent: this.#agent, headers };
      const sent = request(url, options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}
