import { expect, test } from "vitest";
import { crowdAtBroker } from "../../scripts/herd/crowd.ts";
import { hasMosquitto, program } from "../supervisor/fleet/mosquitto.ts";
import { asSlow } from "../support/clocks/patience.ts";

// A few kiosks; `node scripts/fleet-crowd.ts` has a thousand (docs/performance.md).

test.skipIf(!hasMosquitto)(
  "a subscriber of others counts the births, the last wills and the returns of a crowd",
  async () => {
    const crowd = { mosquitto: program, kiosks: 40, processes: 2, spread: 0.02 };
    const { willsMs, ...counts } = await crowdAtBroker(crowd);
    expect(counts).toMatchObject({ births: 40, killed: 20, wills: 20, back: 20 });
    expect(counts.retained).toEqual({ online: 20 });
    expect(willsMs).toBeLessThan(asSlow(5_000));
  },
);
