import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { ConnectorClient } from "../../src/client/client.ts";
import { encodeFixedReply, type FixedReply } from "../../src/concert/index.ts";
import { checkPrograms } from "../../src/launcher/doctor/check-programs.ts";
import { programStates } from "../../src/launcher/processes/programs.ts";
import { systemClock } from "../../src/shared/time.ts";
import { encodeFrame } from "../../src/tp-manager/terminal/concert/link/frame.ts";
import { PATIENCE_MS } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

/** What the liar answers to one request: whole messages, one after the other. */
type Says = (request: string) => readonly Uint8Array[];

const [ENQ, ACK, EOT] = [0x05, 0x06, 0x04].map((byte) => Buffer.from([byte])) as [
  Buffer,
  Buffer,
  Buffer,
];

/** A terminal on a real socket that reports whatever a test wants. */
export abstract class Liar {
  readonly #server: Server;
  protected line: Socket | undefined;
  readonly requests: string[] = [];
  /** For the next requests. */
  says: Says = () => [];

  constructor() {
    this.#server = createServer((socket) => {
      this.line = socket;
      socket.on("error", () => socket.destroy());
      socket.on("data", (bytes: Buffer) => this.heard(bytes, socket));
    });
  }

  protected abstract heard(bytes: Buffer, socket: Socket): void;
  /** Sends messages without a request. */
  abstract deliver(messages: readonly Uint8Array[]): void;

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const listening = this.#server.address();
    return `tcp://127.0.0.1:${typeof listening === "object" ? listening?.port : ""}`;
  }

  close(): void {
    this.line?.destroy();
    this.#server.close();
  }
}

/** Sessions: ENQ, ACK, frame, ACK, EOT, each way. */
export class ConcertLiar extends Liar {
  #heard = Buffer.alloc(0);
  #isAsked = false;
  #queued: Uint8Array[] = [];
  #isReporting = false;

  protected heard(bytes: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, bytes]);
    while (this.#heard.length > 0 && this.#takeOne()) {
      // Each turn takes one control byte, or one frame.
    }
  }

  deliver(messages: readonly Uint8Array[]): void {
    this.#queued.push(...messages);
    if (!this.#isReporting) this.#ask();
  }

  #takeOne(): boolean {
    const [first] = this.#heard;
    if (first === 0x02) return this.#takeFrame();
    this.#heard = this.#heard.subarray(1);
    if (first === 0x05) this.line?.write(ACK);
    else if (first === 0x04) this.#closed();
    else if (first === 0x06) this.#ackArrived();
    return true;
  }

  #takeFrame(): boolean {
    const end = this.#heard.indexOf(0x03);
    if (end < 0 || this.#heard.length < end + 2) return false;
    this.requests.push(this.#heard.subarray(1, end).toString("latin1"));
    this.#heard = this.#heard.subarray(end + 2);
    this.#isAsked = true;
    this.line?.write(ACK);
    return true;
  }

  /** The register's session is over: the terminal's begins. */
  #closed(): void {
    if (!this.#isAsked) return;
    this.#isAsked = false;
    this.deliver(this.says(this.requests.at(-1) ?? ""));
  }

  #ask(): void {
    this.#isReporting = this.#queued.length > 0;
    if (this.#isReporting) this.line?.write(ENQ);
  }

  #isFrameOut = false;
  #ackArrived(): void {
    const [next] = this.#queued;
    if (!this.#isReporting || !next) return;
    if (!this.#isFrameOut) {
      this.#isFrameOut = true;
      this.line?.write(encodeFrame(next));
      return;
    }
    this.#isFrameOut = false;
    this.#queued.shift();
    this.line?.write(EOT);
    this.#ask();
  }
}

/** The reply to a request of fixed fields; what is not changed comes back as it was sent. */
export function fixed(request: string, change: Partial<FixedReply> = {}): Uint8Array {
  return encodeFixedReply({
    posNumber: request.slice(0, 2),
    status: "0",
    amountMinor: Number(request.slice(2, 10)),
    paymentMode: "1",
    report: "497010XXXXXX1234".padEnd(55),
    currency: "978",
    ticket: null,
    private: request.slice(16, 26),
    ...change,
  });
}

export const ZEROS = "0000000000";

/** Messages of tags, one connection for each action. */
export class TaggedLiar extends Liar {
  protected heard(bytes: Buffer, socket: Socket): void {
    const request = bytes.toString("latin1");
    if (request.includes("CD001I")) {
      socket.write(tags({ CZ: "0300", CD: "I", AE: "10" }));
      return;
    }
    this.requests.push(request);
    for (const message of this.says(request)) socket.write(message);
  }

  deliver(messages: readonly Uint8Array[]): void {
    for (const message of messages) this.line?.write(message);
  }
}

/** A message of tags; one without a value is left out. */
function tags(values: Readonly<Record<string, string | undefined>>): Uint8Array {
  const fields = Object.entries(values).filter(([, value]) => value !== undefined);
  const text = fields.map(([tag, value]) => `${tag}${`${value?.length}`.padStart(3, "0")}${value}`);
  return Buffer.from(text.join(""), "latin1");
}

/** The answer to a request of tags. */
export function tagged(
  request: string,
  change: Readonly<Record<string, string | undefined>> = {},
): Uint8Array {
  const sent = (tag: string, length: string) =>
    new RegExp(`${tag}${length}(.{${Number(length)}})`).exec(request)?.[1];
  const digits = /CB(\d{3})/.exec(request)?.[1] ?? "002";
  return tags({
    CZ: "0300",
    CA: "01",
    CB: sent("CB", digits),
    CD: "0",
    CE: "978",
    AE: "10",
    AA: "497010######1234",
    AC: "441586",
    CC: "001",
    CF: sent("CF", "010"),
    ...change,
  });
}

interface Lied {
  readonly at: TestInstallation;
  /** One payment of 9.99 EUR, or of another amount: its status, and its error's code. */
  pays(orderId: string, says: Says, amount?: number): Promise<string>;
  status(orderId: string): Promise<string>;
  /** The newest first. */
  alarms(): Promise<string[]>;
  /** The codes of what the doctor finds at the programs. */
  findings(): Promise<string[]>;
}

/** A running installation whose terminal is the liar, with or without supervisor and gateway. */
export async function installed(
  liar: Liar,
  alone: boolean,
  config: Readonly<Record<string, string | number>>,
): Promise<Lied> {
  const at = new TestInstallation({
    line: "own",
    alone,
    config: {
      GATEWAY_WAIT: 0,
      SERIAL_PORT: await liar.listen(),
      PAYMENT_TIMEOUT: 2,
      PAYMENT_GRACE: 1,
      TEST_TIMERS: "yes",
      RECOVERY_SILENCE_MS: 50,
      ...config,
    },
  });
  await at.start();
  await at.connected();
  const client = new ConnectorClient({ url: at.url, login: "kiosk", password: at.password });
  return {
    at,
    async pays(orderId, says, amount = 9.99) {
      liar.says = says;
      const isReady = async () => (await client.health()).status === "Ready" || undefined;
      await until("a payment would be taken", isReady);
      const { one } = await at.pay(amount, orderId);
      return one.error?.code ? `${one.status} ${one.error.code}` : one.status;
    },
    status: async (orderId) => (await at.call("GET", `/payment/${orderId}`)).one.status,
    findings: async () => {
      const conditions = await programStates(at.data, systemClock, PATIENCE_MS);
      return checkPrograms(conditions, at.data).map(({ code }) => code);
    },
    alarms: async () => (await client.health()).alarms.map(({ alarm }) => alarm),
  };
}
