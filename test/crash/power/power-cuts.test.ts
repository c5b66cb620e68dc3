import { beforeAll, describe, expect, test } from "vitest";
import { isWhole } from "../../support/run/scope.ts";
import type { DiskRecord } from "./disk-record.ts";
import { cutEverywhere } from "./power-cuts.ts";
import { recordSession } from "./recorded-session.ts";
import { recordingLibrary } from "./recorder.ts";

const library = recordingLibrary();

describe.skipIf(library === null)("power cuts, recorded with a C compiler's help", () => {
  let records: readonly DiskRecord[] = [];

  beforeAll(async () => {
    records = await recordSession(library ?? "");
  });

  test("nothing that was answered or accepted is lost, whenever the power goes", () => {
    const options = { seed: 1, imagesEach: 1, step: isWhole ? 1 : 3 };
    const { violations, moments, promised, images } = cutEverywhere(records, options);
    expect(violations).toEqual([]);
    expect(images).toBe(Math.floor(moments / options.step));
    expect(moments).toBeGreaterThan(100);
    expect(Object.keys(promised).sort()).toEqual([
      "an operation of the gateway is on disk before it is sent",
      "evidence: no report gets its ACK before it is stored",
      "only stored orders reach the gateway",
      "what the kiosk was answered stays true",
      "write-ahead: no command leaves before its record",
    ]);
  });

  test.each([
    ["journal.db-wal", /^moment \d+: write-ahead: no command leaves before its record/],
    // Whichever of the two moments the recording has first.
    ["supervisor.db-wal", /handed off until it is stored|only stored orders reach the gateway/],
  ])("a write to %s that is not synced is found", (file, sentence) => {
    // The start copies the log of a new database into its file; a cut during that damages it.
    const isOfFile = ({ path }: DiskRecord): boolean => path.endsWith(file.replace("-wal", ""));
    const copied = records.findIndex(
      (one) => one.what === "write" && one.offset > 0 && isOfFile(one),
    );
    const begun = records.findIndex((one, i) => i > copied && one.what === "sync" && isOfFile(one));
    const careless = records.filter(
      ({ what, path }, i) => i <= begun || what !== "sync" || !path.endsWith(file),
    );
    const { violations } = cutEverywhere(careless, {
      seed: 1,
      imagesEach: 2,
      stopAtFirst: true,
    });
    expect(violations.join("\n")).toMatch(sentence);
  });
});
