import { systemClock } from "../src/shared/time.ts";
import { Metrics } from "../src/tp-manager/http/status/metrics.ts";

type Parts = ConstructorParameters<typeof Metrics>;

interface Figure {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Sources of metrics with no values, because only names and meanings are read. */
const idle = {
  clock: systemClock,
  hub: { subscribe: () => () => undefined },
  arbiter: { notReadyReasons: [], ambiguousOrders: [] },
  journal: {},
  handOff: {},
  // Some metrics appear with the first check for an update.
  supervisor: async () => ({ outbox: { pending: 0, parked: 0 }, updates: { checkedMs: 0 } }),
} as unknown as Parts[0];
const terminal = {
  now: { link: "connected" },
  faults: { linksLost: 0, protocolFaults: 0 },
} as unknown as Parts[1];

/** Returns all metrics of the connector. */
export async function metricsForReference(): Promise<readonly Figure[]> {
  const metrics = new Metrics(idle, terminal);
  await metrics.text();
  const figures = metrics.registry.getMetricsAsArray() as unknown as ReadonlyArray<
    Omit<Figure, "labels" | "type"> & { readonly labelNames?: readonly string[] }
  >;
  const types = new Map(
    (await metrics.registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]),
  );
  const documented = figures.map(({ name, help, labelNames = [] }) => ({
    name,
    help,
    labels: labelNames,
    type: types.get(name) ?? "",
  }));
  return documented.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
