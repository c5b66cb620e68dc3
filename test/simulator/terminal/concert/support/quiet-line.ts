import {
  BareLine,
  type ConcertLine,
  SessionLine,
} from "../../../../../src/simulator/terminal/concert/link/lines.ts";
import { saysAll } from "../../../../../src/simulator/terminal/concert/machine/tagged-dialogue.ts";
import { FaultBox } from "../../../../../src/simulator/terminal/faults/fault-box.ts";
import { TestClock } from "../../../../support/clocks/test-clock.ts";
import { MemoryPort } from "../../support/memory-port.ts";

/** Lets a fault strike whenever the test says so. */
class ScriptedFaults extends FaultBox {
  readonly #strikes: (name: string) => boolean;

  constructor(strikes: (name: string) => boolean) {
    super();
    this.#strikes = strikes;
  }

  override take(name: string) {
    return this.#strikes(name) ? {} : undefined;
  }
}

export interface QuietLine {
  readonly port: MemoryPort;
  readonly clock: TestClock;
  readonly line: ConcertLine;
  /** Bodies that were taken. */
  readonly taken: Uint8Array[];
  /** Everything that was written since the last time, as Latin-1. */
  said(): string;
  hears(text: string): void;
}

/** A terminal's line without a terminal: takes what `takes` takes, sends nothing by itself. */
export function quietLine(
  sessions: boolean,
  takes: (body: Uint8Array) => boolean = () => true,
  strikes: (name: string) => boolean = () => false,
): QuietLine {
  const [port, clock, taken] = [new MemoryPort(), new TestClock(), [] as Uint8Array[]];
  const options = {
    clock,
    transport: sessions ? "serial" : "tcp",
    answerMs: 3_000,
    sessionMs: 3_000,
    silenceMs: 1_000,
    gapMs: 100,
    enqPauseMs: 1_000,
    saysAll,
    faults: new ScriptedFaults(strikes),
    onWire: () => {},
  } as const;
  const line = sessions ? new SessionLine(port, options) : new BareLine(port, options);
  line.start({
    mayBegin: () => true,
    request: (body) => (takes(body) ? () => taken.push(body) : undefined),
    closed: () => {},
  });
  return {
    port,
    clock,
    line,
    taken,
    said: () => Buffer.from(port.take()).toString("latin1"),
    hears: (text) => port.arrive(Buffer.from(text, "latin1")),
  };
}
