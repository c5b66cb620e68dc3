import { Random } from "../../support/inputs/random.ts";
import type { DiskRecord } from "./disk-record.ts";
import { contradictions, PromiseBook } from "./promises.ts";
import { judgedOnce, RecordedDisk } from "./recorded-disk.ts";
import { openStores, type Stores } from "./stores-image.ts";

/** JSON. */
export interface PowerCuts {
  /** Moments at which the power was cut: before each sync, after each answer that went out. */
  moments: number;
  /** What the disk had then, each opened and compared. */
  images: number;
  /** How often each sentence was promised. */
  promised: Record<string, number>;
  violations: string[];
}

interface CutOptions {
  readonly seed: number;
  readonly imagesEach: number;
  /** The power is cut at each so many-th moment; at each one without it. */
  readonly step?: number;
  readonly stopAtFirst?: boolean;
}

/** Cuts the power at every moment of a recorded session and opens what is left. */
export function cutEverywhere(
  records: readonly DiskRecord[],
  { seed, imagesEach, step = 1, stopAtFirst = false }: CutOptions,
): PowerCuts {
  const random = new Random(seed);
  const disk = new RecordedDisk(new Map());
  const book = new PromiseBook();
  const storesOn = judgedOnce(openStores);
  const found: PowerCuts = { moments: 0, images: 0, promised: {}, violations: [] };
  for (const record of records) {
    const promisedBefore = book.promises.length;
    book.read(record);
    const promised = book.promises.length > promisedBefore;
    if (record.what === "sync" || promised) {
      found.moments += 1;
      for (let i = 0; i < imagesEach && found.moments % step === 0; i++) {
        cut(storesOn(disk.afterPowerCut(random)), book, found);
      }
    }
    if (stopAtFirst && found.violations.length > 0) break;
    disk.apply(record);
  }
  for (const { sentence } of book.promises) {
    found.promised[sentence] = (found.promised[sentence] ?? 0) + 1;
  }
  return found;
}

function cut(stores: Stores, book: PromiseBook, found: PowerCuts): void {
  found.images += 1;
  const broken = book.promises
    .filter(({ kept }) => !kept(stores))
    .map(({ sentence, what }) => `${sentence}: ${what}`);
  found.violations.push(
    ...[...contradictions(stores), ...broken].map((breach) => `moment ${found.moments}: ${breach}`),
  );
}
