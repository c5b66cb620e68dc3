import { createServer, type Server, type Socket } from "node:net";
import { systemClock } from "../../src/shared/time.ts";

/**
 * A card terminal without any storage, for `npm run bench`: it says what a real one says in a
 * payment, byte for byte, and costs next to nothing. The product and the floor talk to it alike.
 */

const ACCEPTED = "800000";
const COMPLETED = "060f00";
const REGISTERED = "060f1519002952500042490978060912014026040a0206d3";
const PLEASE_INSERT = "04ff130a03060f240d070b496e736572742063617264";
const WAITING = "04ff1c040306182416071457616974696e6720666f72207468652062616e6b";

const TERMINAL_ID = "52500042";
const LINE_COLUMNS = 40;

/** The lines of a customer's receipt: an attribute, and what stands left and right. */
const receipt: ReadonlyArray<readonly [attribute: string, left: string, right: string]> = [
  ["40", "** Customer copy **", ""],
  ["", "TERMINAL SIMULATOR", ""],
  ["00", "", ""],
  ["70", "PURCHASE", ""],
  ["00", "22.11.2026", "15:01:11"],
  ["", "Terminal:", TERMINAL_ID],
  ["", "Trace:", "000001"],
  ["", "Receipt:", "0001"],
  ["", "Mastercard", ""],
  ["", "Card:", "541333******0006"],
  ["", "AID:", "A0000000041010"],
  ["", "Authorisation:", "107922"],
  ["", "Amount:", "EUR 10,00"],
  ["00", "", ""],
  ["40", "APPROVED", ""],
];

const PRINT_BLOCK = printBlock();

/** The report of one sale: a ZVT status information (04 0F). */
function statusOf(number: number, at: Date): string {
  const trace = String(number % 1_000_000).padStart(6, "0");
  const number4 = String(number % 10_000).padStart(4, "0");
  const code = Buffer.from(trace, "latin1").toString("hex");
  return [
    `040f832700040000000010000b${trace}0c${timeOf(at)}0d${dateOf(at)}0e2911170001`,
    `196022f0f8541333eeeeee000629${TERMINAL_ID}3b${code}000049097887${number4}`,
    "8a062a53494d3030303030303030343220208bf1f14d617374657263617264",
    "0006262f0c1f1001001f1101011f120102410106420a4d6173746572636172644307a0000000041010",
  ].join("");
}

/** The answer to a status enquiry with its service byte: identity, and the clock. */
function statusEnquiry(at: Date): string {
  return [
    `060f4b0006481f4404${TERMINAL_ID}e4301f40125445524d494e414c2053494d554c41544f52`,
    "1f410953494d20312e302e301f420800000000001234561f43010034",
    `0d1f0e04${at.getFullYear()}${dateOf(at)}1f0f03${timeOf(at)}`,
  ].join("");
}

function printBlock(): string {
  const lines = receipt.map(([attribute, left, right]) => {
    const text = right === "" ? left : left + right.padStart(LINE_COLUMNS - left.length);
    const hex = Buffer.from(text, "latin1").toString("hex");
    return `${attribute === "" ? "" : `0901${attribute}`}07${byte(hex.length / 2)}${hex}`;
  });
  const body = `${lines.join("")}090181`;
  const tags = `1f07010225${long(body)}${body}`;
  const data = `06${long(tags)}${tags}`;
  const length = data.length / 2;
  return `06d3ff${byte(length & 0xff)}${byte(length >> 8)}${data}`;
}

/** A length of BER in the form with two bytes. */
function long(hex: string): string {
  return `82${(hex.length / 2).toString(16).padStart(4, "0")}`;
}

function byte(value: number): string {
  return value.toString(16).padStart(2, "0");
}

function timeOf(at: Date): string {
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join("");
}

function dateOf(at: Date): string {
  return two(at.getMonth() + 1) + two(at.getDate());
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

interface FakeTerminal {
  readonly port: number;
  /** Everything that registers have sent since the last call, as hex, in order. */
  heard(): string[];
  close(): void;
}

/** Something that crossed the line: from the register, or to it. */
type Crossed = (what: "heard" | "sent", hex: string) => void;

export async function startFakeTerminal(crossed?: Crossed): Promise<FakeTerminal> {
  const heard: string[] = [];
  const connections = new Set<Socket>();
  function converse(socket: Socket): void {
    connections.add(socket);
    socket.setNoDelay();
    socket.on("error", () => {});
    socket.on("close", () => connections.delete(socket));
    // Each connection is a terminal of its own: none has a sale of the other side.
    let sales = 1;
    let last = statusOf(sales, new Date(systemClock.now()));

    /** The messages that answer a command; each after the first waits for its ACK. */
    function answersTo(control: string): string[] {
      const at = new Date(systemClock.now());
      switch (control) {
        case "0600":
          return [ACCEPTED + REGISTERED];
        case "0501":
          return [ACCEPTED + statusEnquiry(at)];
        case "0620":
          return [ACCEPTED + last, COMPLETED];
        case "0601":
          last = statusOf(++sales, at);
          return [ACCEPTED + PLEASE_INSERT, WAITING, last, PRINT_BLOCK, COMPLETED];
        default:
          return [ACCEPTED + COMPLETED];
      }
    }

    let next: string[] = [];
    socket.on("data", (bytes: Buffer) => {
      const hex = bytes.toString("hex");
      crossed?.("heard", hex);
      heard.push(hex);
      if (!hex.startsWith("80")) next = answersTo(hex.slice(0, 4));
      // An ACK and the next command may come in one piece.
      else if (hex.length > ACCEPTED.length) next = answersTo(hex.slice(6, 10));
      const message = next.shift();
      if (message === undefined) return;
      crossed?.("sent", message);
      socket.write(Buffer.from(message, "hex"));
    });
  }

  const server: Server = createServer(converse);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    heard: () => heard.splice(0),
    close() {
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
}
