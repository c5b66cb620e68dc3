/** Every call with its methods, so that a wrong method is told apart from a wrong path. */
const calls: ReadonlyArray<{ readonly path: RegExp; readonly methods: readonly string[] }> = [
  { path: /^\/$/, methods: ["GET", "POST"] },
  { path: /^\/payment$/, methods: ["POST"] },
  { path: /^\/payment\/[^/]+$/, methods: ["GET"] },
  { path: /^\/(cancel|stop|reset|tlc)$/, methods: ["GET", "POST"] },
  {
    path: /^\/(version|config|check|payments|events|health|metrics|openapi\.json)$/,
    methods: ["GET"],
  },
  { path: /^\/(delivery|reversal|terminal\/accept)$/, methods: ["POST"] },
  { path: /^\/payment\/[^/]+\/settle$/, methods: ["POST"] },
  { path: /^\/(outbox|unexpected-reports)$/, methods: ["GET"] },
  { path: /^\/outbox\/[^/]+\/(requeue|drop)$/, methods: ["POST"] },
  { path: /^\/gateway\/(confirm|cancel|refund|settle)$/, methods: ["POST"] },
  { path: /^\/gateway\/transaction\/[^/]+$/, methods: ["GET"] },
];

/** The methods a path knows; none when there is no such call. */
export function allowedMethods(url: string): readonly string[] {
  const path = url.split("?")[0] ?? "";
  return calls.find((call) => call.path.test(path))?.methods ?? [];
}

/** What to write instead, for a path that is nearly one of ours; undefined for the others. */
export function hintFor(url: string): string | undefined {
  const path = url.split("?")[0] ?? "";
  const known = path
    .toLowerCase()
    .replace(/\/+/g, "/")
    .replace(/(.)\/$/, "$1");
  if (known === path || allowedMethods(known).length === 0) return undefined;
  return `There is no such call; paths are in lower case without a slash at the end: ${known}`;
}
