import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { json } from "node:stream/consumers";
import { projectRoot } from "../../src/shared/version-files.ts";
import { type WebServer, webServer } from "./web-server.ts";

const app = join(projectRoot, "examples/kiosk");
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
};

/** The members of an answer, and its HTTP status, if it is not 200. */
interface Answer {
  readonly http?: number;
  readonly [member: string]: unknown;
}

interface Sent {
  readonly orderId: string;
  readonly delivered?: boolean;
}

/**
 * A connector of a few lines that serves the sample kiosk: a test says what it answers and when,
 * so that each screen stands still for as long as the test checks it.
 */
export class PlayedConnector {
  isReady = true;
  /** The member `running` of `GET /health`. */
  running: object | null = null;
  /** Ends every connection instead of answering. */
  isAway = false;
  /** The answer of `GET /payment/{orderId}`. */
  lookup: Answer = { status: "Unknown", error: { charged: "unknown" } };
  /** Whether the answers of `POST /delivery` are lost; a browser may send one again by itself. */
  losesDeliveries = false;
  /** The answer of `POST /delivery`; undefined: the decision came in time. */
  lateDelivery: Answer | undefined;
  /** What the answer of `POST /cancel` waits for. */
  cancelAnswered: Promise<unknown> = Promise.resolve();
  cancels = 0;
  lookups = 0;
  /** Files in place of those of the sample, by name. */
  files: Readonly<Record<string, string>> = {};
  readonly payments: Sent[] = [];
  readonly deliveries: Sent[] = [];
  #outcome = Promise.withResolvers<object>();
  readonly #streams = new Set<ServerResponse>();
  readonly #unanswered = new Set<ServerResponse>();
  #server: WebServer | undefined;

  async start(): Promise<void> {
    this.#server = await webServer(this.#answer);
  }

  stop(): void {
    this.#server?.close();
  }

  get url(): string {
    return `http://localhost:${this.#server?.port}/#ticket=a-ticket`;
  }

  /** Answers the payment that waits, or the next one. */
  ends(answer: object): void {
    this.#outcome.resolve(answer);
    this.#outcome = Promise.withResolvers();
  }

  /** Sends an event to every page that listens, about the newest payment. */
  announce(name: string, data: object = {}): void {
    const orderId = this.payments.at(-1)?.orderId;
    const text = `event: ${name}\ndata: ${JSON.stringify({ orderId, ...data })}\n\n`;
    for (const stream of this.#streams) stream.write(text);
  }

  /** How often a page has begun to follow the events, and whether one does so now. */
  followers = 0;
  get isFollowed(): boolean {
    return this.#streams.size > 0;
  }

  goesAway(): void {
    this.isAway = true;
    for (const response of this.#unanswered) response.destroy();
  }

  readonly #answer: RequestListener = (request, response) => {
    if (this.isAway) {
      request.socket.destroy();
      return;
    }
    this.#unanswered.add(response);
    response.once("close", () => this.#unanswered.delete(response));
    void this.#reply(request, response);
  };

  async #reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://page.test");
    const send = ({ http = 200, ...one }: Answer): void => {
      response.writeHead(http, { "content-type": "application/json" }).end(JSON.stringify([one]));
    };
    switch (`${request.method} ${pathname}`) {
      case "POST /session":
        return send({ token: "a-token" });
      case "GET /api/health":
        return send({ status: this.isReady ? "Ready" : "NotReady", running: this.running });
      case "GET /api/events":
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        this.#streams.add(response);
        this.followers++;
        await once(response, "close");
        this.#streams.delete(response);
        return;
      case "POST /api/cancel":
        this.cancels++;
        await this.cancelAnswered;
        return send({ status: "Success", cancelled: true });
      case "POST /api/payment": {
        const { promise } = this.#outcome;
        this.payments.push((await json(request)) as Sent);
        return send({ ...(await promise) });
      }
      case "POST /api/delivery": {
        const sent = (await json(request)) as Sent;
        this.deliveries.push(sent);
        if (this.losesDeliveries) {
          request.socket.destroy();
          return;
        }
        const error = { code: "GOODS_NOT_DELIVERED", charged: "no", retry: "safe" };
        if (this.lateDelivery) return send(this.lateDelivery);
        return send(
          sent.delivered ? { status: "Success", error: null } : { status: "Cancelled", error },
        );
      }
    }
    if (pathname.startsWith("/api/")) {
      this.lookups++;
      return send(this.lookup);
    }
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    const type = types[extname(name)] ?? "text/plain";
    response.writeHead(200, { "content-type": `${type}; charset=utf-8` });
    response.end(this.files[name] ?? readFileSync(join(app, name), "utf8"));
  }
}
