import {
  BareLine,
  type ConcertLine,
  type Interference,
  SessionLine,
} from "../../../../../src/simulator/terminal/concert/link/lines.ts";
import { saysAll } from "../../../../../src/simulator/terminal/concert/machine/tagged-dialogue.ts";
import { TestClock } from "../../../../support/test-clock.ts";
import { MemoryPort } from "../../support/memory-port.ts";

const undisturbed: Interference = {
  mute: false,
  fault: () => undefined,
  rewrite: (body) => body,
  disturb: () => [],
};

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

/** A terminal's line without a terminal: takes what `takes` takes, tells nothing by itself. */
export function quietLine(
  sessions: boolean,
  takes: (body: Uint8Array) => boolean = () => true,
  interference: Partial<Interference> = {},
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
    interference: { ...undisturbed, ...interference },
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
