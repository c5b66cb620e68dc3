import { expect, test } from "vitest";
import { crowdAtBroker } from "../../scripts/herd/crowd.ts";
import { hasMosquitto, program } from "../supervisor/fleet/mosquitto.ts";
import { asSlow } from "../support/clocks/patience.ts";

// A few kiosks; `node scripts/fleet-crowd.ts` has a thousand (docs/performance.md).

test.skipIf(!hasMosquitto)(
  "a subscriber of others counts the births, returns, alarms, updates and last wills of a crowd",
  async () => {
    const quick = { spread: 0.02, outageMs: 0, minuteMs: 2 };
    const crowd = { mosquitto: program, kiosks: 40, processes: 2, ...quick };
    const { willsMs, ...counts } = await crowdAtBroker(crowd);
    expect(counts).toMatchObject({ births: 40, killed: 20, wills: 20, back: 40 });
    expect(counts).toMatchObject({ raised: 5, alarms: 5, twice: 0 });
    for (const { reached, restarted } of counts.nights) expect(restarted).toBe(reached);
    expect(counts.nights.reduce((sum, { reached }) => sum + reached, 0)).toBe(40);
    expect(counts.retained).toEqual({ online: 20, lost: 20 });
    expect(willsMs).toBeLessThan(asSlow(5_000));
  },
);
