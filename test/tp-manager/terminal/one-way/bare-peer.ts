import type { TestClock } from "../../../support/clocks/test-clock.ts";
import { LinePeer } from "./line-peer.ts";

export type Tags = Readonly<Record<string, string | undefined>>;

/** A message of tags; a tag without a value is left out. */
export function tagged(tags: Tags): string {
  const text = Object.entries(tags)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([tag, value]) => `${tag}${String(value.length).padStart(3, "0")}${value}`)
    .join("");
  return Buffer.from(text, "latin1").toString("hex");
}

/** A terminal that takes a message on each connection. Tests replace what it does with it. */
export class BarePeer extends LinePeer {
  readonly requests: string[] = [];
  pings = 0;
  onRequest: () => void = () => this.say(this.answer(), 1_000);
  onPing: () => void = () => this.say(tagged({ CZ: "0301", CD: "I", AE: "10" }), 10);

  constructor(clock: TestClock) {
    super(clock);
    this.hears = (hex) => {
      const text = Buffer.from(hex, "hex").toString("latin1");
      if (text.includes("CD001I")) {
        this.pings += 1;
        this.onPing();
        return;
      }
      this.requests.push(text);
      this.onRequest();
    };
  }

  /** The request's reference comes back, as on most terminals. */
  get reference(): string | undefined {
    return /CF010(.{10})/.exec(this.requests[0] ?? "")?.[1];
  }

  answer(change: Tags = {}): string {
    return tagged({
      CZ: "0300",
      CJ: "012330538600",
      CA: "01",
      CB: "999",
      CD: "0",
      CE: "978",
      AE: "10",
      AA: "497010######1234",
      AC: "441586",
      CC: "001",
      CI: "1",
      CF: this.reference,
      ...change,
    });
  }
}
