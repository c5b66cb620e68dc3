import { describe, expect, test } from "vitest";
import {
  chosenRelease,
  compareVersions,
  isVersion,
  type Release,
} from "../../src/update/offer-policy.ts";

function release(version: string, changed: Partial<Release> = {}): Release {
  return {
    version,
    platform: "linux-x64",
    channels: { stable: 100 },
    follows: "0.0.1",
    notBeforeMs: 0,
    withdrawn: false,
    replaces: [],
    ...changed,
  };
}

/** The facts of one kiosk that decide about its updates. */
type Candidate = Parameters<typeof chosenRelease>[1];

function kiosk(changed: Partial<Candidate> = {}): Candidate {
  return {
    installation: "kiosk-1",
    version: "1.0.0",
    platform: "linux-x64",
    channel: "stable",
    offered: [],
    barred: [],
    nowMs: 1000,
    ...changed,
  };
}

function taken(releases: readonly Release[], changed: Partial<Candidate> = {}): string | undefined {
  return chosenRelease(releases, kiosk(changed))?.version;
}

describe("an installation takes", () => {
  test("the newest release, whatever their order", () => {
    const releases = ["1.2.0", "1.10.0", "1.9.9"].map((version) => release(version));
    expect(taken(releases)).toBe("1.10.0");
    expect(taken(releases.toReversed())).toBe("1.10.0");
  });

  test("nothing when it has the newest, or a newer one", () => {
    expect(taken([release("1.0.0"), release("0.9.0")])).toBeUndefined();
    expect(taken([release("1.0.0-beta.2")])).toBeUndefined();
  });

  test.each<[string, Partial<Release>, Partial<Candidate>]>([
    ["of another platform", { platform: "win-x64" }, {}],
    ["of another channel", { channels: { beta: 100 } }, {}],
    ["of no channel of its own", {}, { channel: "constructor" }],
    ["that was withdrawn", { withdrawn: true }, {}],
    ["that failed here", {}, { barred: ["2.0.0"] }],
    ["that follows a later version", { follows: "1.5.0" }, {}],
    ["before its time", { notBeforeMs: 1001 }, {}],
  ])("no release %s, but the same release without that", (_, of, changed) => {
    for (const offered of [[], ["2.0.0"]]) {
      expect(taken([release("2.0.0", of)], { ...changed, offered })).toBeUndefined();
      expect(taken([release("2.0.0")], { offered })).toBe("2.0.0");
    }
  });

  test("no release with a share of nothing, unless it was once offered", () => {
    const one = release("2.0.0", { channels: { stable: 0 } });
    expect(taken([one])).toBeUndefined();
    expect(taken([one], { offered: ["2.0.0"] })).toBe("2.0.0");
  });

  test("a release that another channel replaces, and none that its own channel replaces", () => {
    const beta = release("1.0.0", { channels: { beta: 100 }, replaces: ["2.0.0"] });
    expect(taken([beta, release("2.0.0")])).toBe("2.0.0");
    const own = release("1.0.0", { replaces: ["2.0.0"] });
    expect(taken([own, release("2.0.0")])).toBeUndefined();
  });

  test("the step that it can take, when the newest is too large a step", () => {
    const releases = [release("3.0.0", { follows: "2.0.0" }), release("2.1.0")];
    expect(taken(releases)).toBe("2.1.0");
    expect(taken(releases, { version: "2.1.0" })).toBe("3.0.0");
  });

  test("an older release only when the publisher marked it, and not back again", () => {
    const releases = [release("1.0.0", { replaces: ["1.1.0"] }), release("1.1.0")];
    expect(taken([release("1.0.0"), release("1.1.0")], { version: "1.1.0" })).toBeUndefined();
    expect(taken(releases, { version: "1.1.0" })).toBe("1.0.0");
    expect(taken(releases, { version: "1.0.0" })).toBeUndefined();
    expect(taken(releases, { version: "0.9.0" })).toBe("1.0.0");
  });

  test("a newer release rather than the way back", () => {
    const releases = [release("1.0.0", { replaces: ["1.1.0"] }), release("1.2.0")];
    expect(taken(releases, { version: "1.1.0" })).toBe("1.2.0");
  });
});

describe("a rollout share", () => {
  const kiosks = Array.from({ length: 1000 }, (_, i) => `installation-${i * 7919}`);
  const offeredTo = (share: number, version: string): string[] =>
    kiosks.filter((installation) => {
      return taken([release(version, { channels: { stable: share } })], { installation });
    });

  test.each([1, 10, 50, 100])(
    "of %d percent reaches as many of 1 000, within 5 points",
    (share) => {
      for (const version of ["1.1.0", "1.2.0", "2.0.0"]) {
        const percent = offeredTo(share, version).length / 10;
        expect(Math.abs(percent - share), `${version}: ${percent} %`).toBeLessThanOrEqual(5);
        if (share === 100) expect(percent).toBe(100);
      }
    },
  );

  test("that grows keeps all whom it has reached, at every check", () => {
    const [few, some, many] = [1, 10, 50].map((share) => offeredTo(share, "1.1.0"));
    expect(some).toEqual(expect.arrayContaining(few ?? []));
    expect(many).toEqual(expect.arrayContaining(some ?? []));
    expect(offeredTo(10, "1.1.0")).toEqual(some);
  });

  test("that shrinks stops new offers only; a withdrawal stops all", () => {
    const reached = offeredTo(50, "1.1.0");
    const keptBy = (of: Partial<Release>) =>
      kiosks.filter((installation) => {
        const offered = reached.includes(installation) ? ["1.1.0"] : [];
        return taken([release("1.1.0", of)], { installation, offered });
      });
    expect(keptBy({ channels: { stable: 0 } })).toEqual(reached);
    expect(keptBy({ channels: { stable: 50 }, withdrawn: true })).toEqual([]);
  });

  test("reaches others first with every version", () => {
    const [one, two] = [offeredTo(10, "1.1.0"), offeredTo(10, "1.2.0")];
    const both = one.filter((installation) => two.includes(installation));
    expect(both.length).toBeLessThan(one.length / 2);
  });
});

test("versions are ordered by their numbers, and a suffix comes before none", () => {
  const ordered = ["0.9.9", "1.0.0-alpha", "1.0.0-beta.2", "1.0.0-beta.10", "1.0.0", "1.0.10"];
  expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered);
  expect(ordered.every(isVersion)).toBe(true);
  expect(["1.0", "1.0.0-", "v1.0.0", "1.0.0/..", "../x"].some(isVersion)).toBe(false);
});
