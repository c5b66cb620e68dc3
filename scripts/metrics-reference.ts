import { systemClock } from "../src/shared/time.ts";
import { Metrics } from "../src/tp-manager/http/status/metrics.ts";

type Parts = ConstructorParameters<typeof Metrics>[0];
type Status = Awaited<ReturnType<Parts["supervisor"]>>;

interface Figure {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Nothing is counted: the names and what they mean are asked for. */
const idle = {
  clock: systemClock,
  hub: { subscribe: () => () => undefined },
  watch: { now: { link: "connected" }, faults: { linksLost: 0, protocolFaults: 0 } },
  arbiter: { obstacles: [], refusedBeside: [] },
  counts: {},
  handOff: {},
  // Some figures appear with the first look for an update.
  supervisor: async () =>
    ({ outbox: { pending: 0, parked: 0 }, updates: { checkedMs: 0 } }) as unknown as Status,
} as unknown as Parts;

/** Every figure of the connector's own. */
export async function metricsForReference(): Promise<readonly Figure[]> {
  const metrics = new Metrics(idle);
  await metrics.text();
  const figures = metrics.registry.getMetricsAsArray() as unknown as ReadonlyArray<
    Omit<Figure, "labels" | "type"> & { readonly labelNames?: readonly string[] }
  >;
  const types = new Map(
    (await metrics.registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]),
  );
  const told = figures.map(({ name, help, labelNames = [] }) => ({
    name,
    help,
    labels: labelNames,
    type: types.get(name) ?? "",
  }));
  return told.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
