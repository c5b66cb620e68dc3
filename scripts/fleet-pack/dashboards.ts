/* The dashboards of a fleet for Grafana: each panel is a query of examples/fleet-pack's series. */

type Kind = "stat" | "timeseries" | "table";

interface Panel {
  readonly title: string;
  readonly kind: Kind;
  readonly query: string;
  /** What a series of a chart is called. */
  readonly legend?: string;
  readonly unit?: string;
  /** The width; a row has 24. */
  readonly wide: number;
}

interface Board {
  readonly title: string;
  readonly uid: string;
  /** The variable of the page and the label whose values it has. */
  readonly variable?: readonly [name: string, label: string];
  readonly panels: readonly Panel[];
}

const HEIGHTS: Readonly<Record<Kind, number>> = { stat: 4, timeseries: 8, table: 9 };
const datasource = { type: "prometheus", uid: "$datasource" };

const stat = (title: string, query: string, unit?: string): Panel => ({
  title,
  kind: "stat",
  query,
  wide: 4,
  ...(unit === undefined ? {} : { unit }),
});
const chart = (title: string, query: string, legend: string, unit = "short"): Panel => ({
  title,
  kind: "timeseries",
  query,
  legend,
  unit,
  wide: 12,
});
const table = (title: string, query: string): Panel => ({ title, kind: "table", query, wide: 24 });

/** Returns the panels that show the kiosks that `of`, a matcher of labels, chooses. */
const ofKiosks = (of: string): readonly Panel[] => [
  stat("Kiosks", `count(last_over_time(connector_online${of}[1h]))`),
  stat("Online", `sum(connector_online${of})`),
  stat("Silent", `sum(connector_lost${of})`),
  stat("Can pay", `sum(connector_can_pay${of} and on (kiosk) connector_online == 1)`),
  stat("Payments in doubt", `sum(connector_payments_in_doubt${of})`),
  stat("Wait for the gateway", `sum(connector_gateway_pending${of})`),
  table("Not online", `connector_online${of} == 0`),
  table("Conditions", `connector_trouble${of} == 1`),
  chart(
    "Payments in an hour",
    `sum by (outcome) (increase(connector_payments_total${of}[1h]))`,
    "{{outcome}}",
  ),
  chart("Kiosks online", `sum(connector_online${of})`, "online"),
  chart(
    "Errors of payments in an hour",
    `sum by (code) (increase(connector_payment_errors_total${of}[1h]))`,
    "{{code}}",
  ),
];

/** The alarms that have a rule of their own in alarms.yml, for a day. */
const alarms = (of: string): Panel =>
  table("Alarms of the last day", `ALERTS{${of}alarm!="",alertstate="firing"}`);

const kiosk = '{kiosk="$kiosk"}';

const boards: Readonly<Record<string, Board>> = {
  overview: {
    title: "Fleet",
    uid: "fleet-overview",
    panels: [
      ...ofKiosks(""),
      table("Alerts", 'ALERTS{alertstate="firing"}'),
      alarms(""),
      chart("Versions", "count by (supervisor) (connector_info)", "{{supervisor}}"),
      chart(
        "Documents that the bridge took",
        "rate(connector_bridge_documents_total[5m])",
        "taken",
      ),
    ],
  },
  site: {
    title: "Fleet: a site",
    uid: "fleet-site",
    variable: ["site", "label_site"],
    panels: [
      ...ofKiosks('{label_site=~"$site"}'),
      alarms('label_site=~"$site",'),
      table("Payments in doubt by kiosk", 'connector_payments_in_doubt{label_site=~"$site"}'),
    ],
  },
  kiosk: {
    title: "Fleet: a kiosk",
    uid: "fleet-kiosk",
    variable: ["kiosk", "kiosk"],
    panels: [
      stat("Online", `connector_online${kiosk}`),
      stat("Can pay", `connector_can_pay${kiosk}`),
      stat("Payments in doubt", `connector_payments_in_doubt${kiosk}`),
      stat("Wait for the gateway", `connector_gateway_pending${kiosk}`),
      stat("Up since", `last_over_time(connector_uptime_seconds_supervisor${kiosk}[30m])`, "s"),
      stat("Memory", `last_over_time(connector_memory_bytes${kiosk}[30m])`, "bytes"),
      stat("Disk free", `last_over_time(connector_disk_free_bytes${kiosk}[30m])`, "bytes"),
      stat("Clock ahead", `last_over_time(connector_clock_ahead_seconds${kiosk}[30m])`, "s"),
      table("Conditions", `connector_trouble${kiosk} == 1`),
      alarms('kiosk="$kiosk",'),
      table("Terminal and versions", `connector_terminal${kiosk} or connector_info${kiosk}`),
      table("Machine and starts", `connector_system${kiosk} or connector_started_after${kiosk}`),
      chart(
        "Online and can pay",
        `connector_online${kiosk} or connector_can_pay${kiosk}`,
        "{{__name__}}",
      ),
      chart(
        "Payments in an hour",
        `sum by (outcome) (increase(connector_payments_total${kiosk}[1h]))`,
        "{{outcome}}",
      ),
      chart(
        "Errors of payments in an hour",
        `sum by (code) (increase(connector_payment_errors_total${kiosk}[1h]))`,
        "{{code}}",
      ),
      chart(
        "Time of 95 in 100 payments",
        "histogram_quantile(0.95, sum by (le, phase) " +
          `(rate(connector_payment_phase_seconds_bucket${kiosk}[1h])))`,
        "{{phase}}",
        "s",
      ),
      chart(
        "Lost links",
        `connector_links_lost_terminal${kiosk} or connector_links_lost_broker${kiosk}`,
        "{{__name__}}",
      ),
      chart("Memory", `connector_memory_bytes${kiosk}`, "supervisor", "bytes"),
      chart("Wait for the gateway", `connector_outbox_pending${kiosk}`, "transactions"),
    ],
  },
};

/** Returns the dashboards, as Grafana imports them, by the names of their files. */
export function dashboards() {
  return Object.fromEntries(
    Object.entries(boards).map(([name, board]) => [name, dashboard(board)]),
  );
}

function dashboard({ title, uid, variable, panels }: Board) {
  const source = { name: "datasource", type: "datasource", query: "prometheus", label: "Source" };
  const [name, label] = variable ?? [];
  const query = `label_values(connector_online, ${label})`;
  const chosen = {
    name,
    type: "query",
    datasource,
    query: { query, refId: "values" },
    refresh: 2,
    sort: 1,
    includeAll: name === "site",
    ...(name === "site" ? { allValue: ".*" } : {}),
  };
  return {
    uid,
    title,
    tags: ["fleet"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: name === undefined ? [source] : [source, chosen] },
    panels: placed(panels),
  };
}

function placed(panels: readonly Panel[]) {
  let [x, y, height] = [0, 0, 0];
  return panels.map(({ title, kind, query, legend, unit = "short", wide }, index) => {
    if (x + wide > 24) [x, y, height] = [0, y + height, 0];
    const at = { x, y, w: wide, h: HEIGHTS[kind] };
    x += wide;
    height = Math.max(height, at.h);
    const target = {
      refId: "A",
      datasource,
      expr: query,
      legendFormat: legend ?? "__auto",
      instant: kind !== "timeseries",
      range: kind === "timeseries",
      format: kind === "table" ? "table" : "time_series",
    };
    return {
      id: index + 1,
      type: kind,
      title,
      datasource,
      gridPos: at,
      fieldConfig: { defaults: { unit }, overrides: [] },
      options: {},
      targets: [target],
    };
  });
}
