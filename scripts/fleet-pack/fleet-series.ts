import type { Sample } from "./remote-write.ts";
import { documentOf, type Figure, figuresOf, type KioskDocument, labelsOf } from "./series.ts";

/** How far a kiosk's clock may be ahead: Prometheus would refuse all that comes before. */
const AHEAD_MS = 60_000;
/** How many series a kiosk may have in an hour, of each of its four documents. */
const SERIES_MAX = 500;
const HOUR_MS = 3_600_000;
/** How many error codes of a kiosk are known: it can have some 60. */
const CODES_MAX = 100;
const ERRORS = "connector_payment_errors_total";
const lasting = new Set(["connector_trouble", "connector_payments_in_doubt"]);

interface Said {
  readonly labels: Readonly<Record<string, string>>;
  readonly figures: readonly Figure[];
}

interface Kiosk {
  readonly name: string;
  /** What its last state says; undefined: nobody knows how the kiosk is. */
  said: Said | undefined;
  /** What its last state said before the broker was lost. */
  earlier: Said | undefined;
  isAhead: boolean;
  lastMs: number;
  /** The series of this hour, by document: no figures can take the place of an alarm. */
  readonly series: Map<string, Set<string>>;
  sinceMs: number;
  /** When figures had an error code first, and when the kiosk measured before; 0: not known. */
  readonly codes: Map<string, { readonly atMs: number; readonly beforeMs: number }>;
  measuredMs: number;
}

/**
 * Makes samples of the documents of all kiosks, and knows which series each kiosk has. No document
 * makes a method throw, because the broker would send it again and again.
 */
export class FleetSeries {
  readonly #kiosks = new Map<string, Kiosk>();
  readonly #nowMs: () => number;
  readonly #say: (text: string) => void;
  readonly counts = { documents: 0, refused: 0, ahead: 0 };

  constructor(nowMs: () => number, say: (text: string) => void) {
    [this.#nowMs, this.#say] = [nowMs, say];
  }

  /** Returns what a document says; what cannot be read is counted and says nothing. */
  take(topic: string, payload: string): readonly Sample[] {
    try {
      const [, , name = "", kind] = topic.split("/");
      if (kind === "state" && payload === "") return this.#forget(name);
      const found = documentOf(topic, payload);
      if (!found) throw new Error("not a document of a kiosk");
      const kiosk = this.#kioskOf(name);
      const samples = kind === "state" ? this.#state(kiosk, found[1]) : this.#figures(kiosk, found);
      this.counts.documents += 1;
      return samples;
    } catch (error) {
      this.refuse(`${JSON.stringify(topic.slice(0, 100))}: ${(error as Error).message}`);
      return [];
    }
  }

  refuse(why: string): void {
    this.counts.refused += 1;
    this.#say(`refused ${why}`);
  }

  /** Returns what is known of the bridge, and when the broker's certificate ends, if it has one. */
  own(certificateEnds: number | undefined): readonly Sample[] {
    const counts = Object.entries(this.counts).map(([name, value]) => [`${name}_total`, value]);
    const all = { up: 1, ...Object.fromEntries(counts) } as Record<string, number>;
    const own = Object.entries(all).map(([name, value]) => [`bridge_${name}`, value] as const);
    const end = [
      "broker_certificate_ends_timestamp_seconds",
      certificateEnds ?? Number.NaN,
    ] as const;
    return [...own, ...(certificateEnds ? [end] : [])].map(([name, value]) => ({
      name: `connector_${name}`,
      labels: {},
      value,
      atMs: this.#nowMs(),
    }));
  }

  /** Returns, for each kiosk, what its state says, at the present time. */
  present(): readonly (readonly Sample[])[] {
    return [...this.#kiosks.values()].map((kiosk) => this.#samplesOf(kiosk, kiosk.said));
  }

  /** Returns the ends of all series: without the broker nobody knows how the kiosks are. */
  lose(): readonly (readonly Sample[])[] {
    return [...this.#kiosks.values()].map((kiosk) => {
      const ends = this.#samplesOf(kiosk, kiosk.said).map((one) => ({ ...one, value: null }));
      kiosk.earlier = kiosk.said ?? kiosk.earlier;
      kiosk.said = undefined;
      return ends;
    });
  }

  #kioskOf(name: string): Kiosk {
    const known = this.#kiosks.get(name);
    if (known) return known;
    const [said, earlier] = [undefined, undefined];
    const times = { isAhead: false, lastMs: 0, sinceMs: 0, measuredMs: 0 };
    const kiosk = { name, said, earlier, ...times, series: new Map(), codes: new Map() };
    this.#kiosks.set(name, kiosk as Kiosk);
    return kiosk as Kiosk;
  }

  #state(kiosk: Kiosk, document: KioskDocument): readonly Sample[] {
    const before = kiosk.said ?? kiosk.earlier;
    // Of a kiosk that is away nobody knows whether what waits for a person has ended.
    const isAway = document["now"] === null;
    const kept = isAway ? before?.figures.filter(({ name }) => lasting.has(name)) : [];
    const all = [...figuresOf("state", document), ...(kept ?? [])];
    kiosk.said = this.#bounded(kiosk, "state", { labels: labelsOf(document), figures: all });
    return [...this.#endsOf(kiosk, before), ...this.#samplesOf(kiosk, kiosk.said)];
  }

  /** Figures have the time of measuring; when an alarm was is the value of its series. */
  #figures(kiosk: Kiosk, [name, document]: [string, KioskDocument]): readonly Sample[] {
    const measuredMs = name === "metrics" ? Date.parse(document.at) : 0;
    const isAhead = measuredMs > this.#nowMs() + AHEAD_MS;
    if (isAhead) {
      this.counts.ahead += 1;
      if (!kiosk.isAhead)
        this.#say(`the clock of ${kiosk.name} is ahead: its figures are of ${document.at}`);
    }
    kiosk.isAhead = isAhead;
    const said = { labels: labelsOf(document), figures: figuresOf(name, document) };
    const isPresent = isAhead || name !== "metrics";
    const all = this.#bounded(kiosk, name, said);
    const atMs = isPresent ? this.#timeOf(kiosk) : measuredMs;
    const samples = this.#samplesOf(kiosk, all, atMs);
    if (name !== "metrics") return samples;
    const arrived = {
      name: "connector_metrics_arrived_at",
      labels: {},
      value: this.#nowMs() / 1_000,
    };
    const arrival = this.#samplesOf(kiosk, { ...all, figures: [arrived] });
    return [...samples, ...this.#zerosOf(kiosk, all, atMs), ...arrival];
  }

  /**
   * Returns a 0 for each error code that the kiosk had not counted at a time. Figures have a code
   * from its first time on only, and the first value of a series is no increase to Prometheus.
   */
  #zerosOf(kiosk: Kiosk, { labels, figures }: Said, atMs: number): readonly Sample[] {
    const zero = (code: string, zeroMs: number): readonly Sample[] => {
      const figure = { name: ERRORS, labels: { code }, value: 0 };
      return this.#samplesOf(kiosk, { labels, figures: [figure] }, zeroMs);
    };
    const counted = figures.filter(({ name }) => name === ERRORS).map((one) => one.labels["code"]);
    const { measuredMs } = kiosk;
    const isNext = atMs > measuredMs && atMs < measuredMs + 24 * HOUR_MS;
    for (const code of counted) {
      if (code === undefined || kiosk.codes.has(code) || kiosk.codes.size === CODES_MAX) continue;
      kiosk.codes.set(code, { atMs, beforeMs: isNext ? measuredMs : 0 });
    }
    kiosk.measuredMs = Math.max(measuredMs, atMs);
    return [...kiosk.codes].flatMap(([code, first]) => {
      if (!counted.includes(code)) return zero(code, atMs);
      // Also when the broker sends the same figures again.
      return first.atMs === atMs && first.beforeMs > 0 ? zero(code, first.beforeMs) : [];
    });
  }

  /** Forgets a kiosk whose retained state was deleted. */
  #forget(name: string): readonly Sample[] {
    const kiosk = this.#kiosks.get(name);
    if (!kiosk) return [];
    this.#kiosks.delete(name);
    const before = kiosk.said ?? kiosk.earlier;
    kiosk.said = undefined;
    const gone = { name: "connector_forgotten", labels: { kiosk: name }, value: 1 };
    return [...this.#endsOf(kiosk, before), { ...gone, atMs: this.#timeOf(kiosk) }];
  }

  /** Ends the series that a kiosk has no longer, after a 0, because rules look an hour back. */
  #endsOf(kiosk: Kiosk, before: Said | undefined): readonly Sample[] {
    const keyOf = ({ name, labels }: Sample) =>
      JSON.stringify([name, Object.entries(labels).sort()]);
    const present = new Set(this.#samplesOf(kiosk, kiosk.said).map(keyOf));
    const ended = this.#samplesOf(kiosk, before).filter((one) => !present.has(keyOf(one)));
    const atMs = this.#timeOf(kiosk);
    return [
      ...ended.map((one) => ({ ...one, value: 0 })),
      ...ended.map((one) => ({ ...one, value: null, atMs })),
    ];
  }

  #samplesOf(kiosk: Kiosk, said: Said | undefined, atMs = this.#timeOf(kiosk)): readonly Sample[] {
    return (said?.figures ?? []).map(({ name, labels, value }) => {
      return { name, labels: { ...labels, ...said?.labels, kiosk: kiosk.name }, value, atMs };
    });
  }

  /** Leaves out what would be a new series of a kiosk that has too many in this hour. */
  #bounded(kiosk: Kiosk, document: string, { labels, figures }: Said): Said {
    if (this.#nowMs() > kiosk.sinceMs + HOUR_MS) {
      kiosk.series.clear();
      kiosk.sinceMs = this.#nowMs();
    }
    const series = kiosk.series.get(document) ?? new Set();
    kiosk.series.set(document, series);
    const own = JSON.stringify(labels);
    const kept = figures.filter((one) => {
      const key = [one.name, ...Object.values(one.labels), own].join("\n");
      if (series.size < SERIES_MAX) series.add(key);
      return series.has(key);
    });
    if (kept.length < figures.length)
      this.refuse(`${figures.length - kept.length} series of ${kiosk.name}: it has too many`);
    return { labels, figures: kept };
  }

  /** Returns the present time, later with each call: a series has one value for a time. */
  #timeOf(kiosk: Kiosk): number {
    kiosk.lastMs = Math.max(this.#nowMs(), kiosk.lastMs + 1);
    return kiosk.lastMs;
  }
}
