export type Verdict = "ok" | "warn" | "fail";

export interface FindingRow {
  /** The word at the head of the line. */
  readonly check: string;
  readonly verdict: Verdict;
  /** For the terminal, with values in braces. */
  readonly says: string;
  /** Advice for the terminal, also where all is well; empty: there is nothing to do. */
  readonly todo: string;
  /** For the reference, where `says` tells values only, or the same as another code. */
  readonly means: string;
}
type Line = Omit<FindingRow, "check">;

const advised =
  (verdict: Verdict) =>
  <const S extends string, const T extends string>(says: S, todo: T, means = "") =>
    ({ verdict, says, todo, means }) satisfies Line;
const hint = advised("ok");
const warn = advised("warn");
const fail = advised("fail");
const ok = <const S extends string>(says: S, means = "") => hint(says, "", means);

/** The lines of one check. */
const of = <const C extends string, L extends Record<string, Line>>(check: C, lines: L) =>
  Object.fromEntries(Object.entries(lines).map(([code, line]) => [code, { check, ...line }])) as {
    readonly [Code in keyof L]: L[Code] & { readonly check: C };
  };

const room = "make room: without it no payment can be written, and none is taken";
const clockTodo = "let the machine set its clock from the network (timedatectl set-ntp true)";
const resetAccess = 'as an administrator: icacls "{folder}" /reset, then {close}';
const serverTodo = "check network, clock, UPDATE_URL and UPDATE_CA_FILE; tell the publisher";

/**
 * The one table of what the doctor finds by itself, by the code that programs and the console know
 * it by (docs/design.md 9.1). A trouble has its own table and code (`conditionTable`); what keeps a
 * payment from being taken has the code of that payment's answer (`errorTable`).
 */
export const findingTable = {
  ...of("doctor", {
    "doctor-no-report": fail("the doctor made no report: {detail}", "run ./launch.sh doctor"),
  }),
  ...of("node", {
    "node-right": ok("{version} ({path})", "a Node.js that the connector runs on"),
    "node-old": fail(
      "{version} ({path})",
      "remove node_modules and run ./launch.sh: it installs the right one",
      "this Node.js is too old",
    ),
  }),
  ...of("data folder", {
    "data-folder-right": ok("{folder}", "the data folder can be read and written"),
    "data-folder-closed": fail(
      "{detail}",
      "create it, or give it to the user who runs the connector (chown -R)",
      "the data folder is missing, or this user may not read and write it",
    ),
  }),
  ...of("disk", {
    "disk-right": ok("{free} MB free", "there is room for payments and logs"),
    "disk-low": warn("{free} MB free", room, "room is getting short"),
    "disk-full": fail("{free} MB free", room, "too little room is left to write a payment"),
    "disk-no-files": fail("{free} MB free, but no room for more files", room),
  }),
  ...of("access", {
    "access-right": ok("this user, the system and the administrators only"),
    "access-open": fail("everybody may use the data folder ({names})", resetAccess),
    "access-inherited": fail("the rights of the folder above hold here too", "{close}"),
    "access-not-ours": warn("the user who runs this is not named", "{close}"),
    "access-others": warn("besides the three also {names}", resetAccess),
    "access-unknown": warn(
      "not known who may use the data folder: {detail}",
      "look yourself: in the folder's properties, under Security",
    ),
  }),
  ...of("config", {
    "setup-right": ok("{file} is complete"),
    "setup-faulty": fail(
      "{detail}",
      "correct {file}, then ./launch.sh restart",
      "a setting is missing, or its value cannot be used",
    ),
    "setup-unreadable": fail("{detail}", "{advice}", "the setup file cannot be read"),
    "setup-doubtful": warn(
      "{detail}",
      "look at {file}",
      "a setting that works, but most likely not as it was meant",
    ),
  }),
  ...of("serial port", {
    "serial-network": ok("{port} is on the network"),
    "serial-right": ok("{port}", "the port is there and can be opened"),
    "serial-numbered": hint(
      "{port}",
      "SERIAL_PORT={address} would find it under any number",
      "the port is there, under a number that may change",
    ),
    "serial-several": fail(
      "{address} fits {ports}",
      "add the serial number, or name one below /dev/serial/by-id",
      "more than one port fits what SERIAL_PORT says",
    ),
    "serial-missing": fail(
      "{address} is not there",
      "set SERIAL_PORT to one of {ports}",
      "this port is missing, others are there",
    ),
    "serial-none": fail(
      "{address} is not there",
      "plug the terminal in and switch it on: this machine has no serial port at all",
      "this machine has no serial port",
    ),
    "serial-no-port": fail("{port} is no serial port", "set SERIAL_PORT to one: {ports}"),
    "serial-not-allowed": fail(
      "{user} may not open {port}",
      "sudo usermod -aG {group} {user}, then log out and in again, or reboot",
      "the user is not in the group that may open it",
    ),
    "serial-log-in-again": fail(
      "{user} may not open {port}",
      "{user} is in the group {group} but logged in before: log out and in, or reboot",
      "the user joined the group after logging in",
    ),
    "serial-of-root": fail(
      "{user} may not open {port}",
      "it belongs to root alone: sudo chgrp dialout {port}; sudo chmod 660 {port}",
      "the port belongs to root and no group may open it",
    ),
    "serial-in-use": fail(
      "{port} is in use by process {pid} ({program})",
      "end that program: only one can talk to the terminal",
    ),
  }),
  ...of("local port", {
    "port-ours": ok("{port} is tp-manager's"),
    "port-free": ok("{port} is free", "tp-manager does not run, and its port can be used"),
    "port-in-use": warn("{port} is in use, most likely by tp-manager", "see tp-manager"),
    "port-taken": fail(
      "another program listens on {port}",
      "end that program, or choose another LOCAL_PORT and tell the kiosk software",
    ),
    "port-unusable": fail("{port} cannot be used: {detail}", "choose one from 1024 to 65535"),
    "port-changed": warn(
      "tp-manager still listens on {before}, the setup file says {port}",
      "./launch.sh restart",
    ),
  }),
  ...of("pages", {
    "page-served": ok(
      "{setting}: http://localhost:{port}/",
      "the console, or the kiosk's own pages, are served there",
    ),
    "page-free": ok(
      "{setting} {port} is free",
      "tp-manager does not run, and the page's port can be used",
    ),
    "page-in-use": warn("{setting} {port} is in use, most likely by tp-manager", "see tp-manager"),
    "page-taken": fail(
      "another program listens on {setting} {port}: the page is missing, payments go on",
      "end that program, or set another {setting}; then ./launch.sh restart",
    ),
    "page-missing": fail(
      "{setting} {port} is not served: {detail}",
      "set {setting} right; then ./launch.sh restart",
    ),
    "page-changed": warn(
      "tp-manager does not serve {setting} {port} of the setup file yet",
      "./launch.sh restart",
    ),
  }),
  ...of("{program}", {
    "program-runs": ok("pid {pid}, version {version}, up {up}"),
    "program-silent": fail("pid {pid} does not answer: {detail}", "./launch.sh restart"),
    "program-stopped-on-purpose": warn("stopped on purpose since {since}", "./launch.sh start"),
    "program-stopped": fail("does not run", "./launch.sh start; it says why if it cannot"),
  }),
  ...of("terminal", {
    "terminal-ready": ok("{name} {status}", "a payment would be taken"),
    "terminal-doubtful": warn(
      "{name} {status}: {detail}",
      "look at it",
      "a payment would be taken, but the terminal told of a problem",
    ),
    "terminal-in-doubt": warn(
      "{name} {status}; payments in doubt: {count}",
      "see the terminal's own journal, then settle them at the console, In doubt; " +
        "GET /payments?status=Unknown names them",
    ),
    "terminal-other-register": warn(
      "{name} gives another register number back than it is sent",
      "set the register's number in the setup file to the one of the terminal; until then a " +
        "result of another register is not told from ours by it",
    ),
  }),
  ...of("assumptions", {
    "assumption-on": ok(
      "{name}: {detail}",
      "this is taken for granted of the terminal (docs/matching.md)",
    ),
    "assumption-off": ok("{name}: off with {detail}", "this is not taken for granted here"),
    "fact-shown": ok("{name}: this terminal {detail}"),
    "fact-not-shown": ok("{name}: this terminal has not shown yet that it {detail}"),
    "fact-not-always": ok("{name}: seen otherwise, so not relied on: this terminal {detail}"),
  }),
  ...of("terminal", {
    "terminal-not-asked": warn("not asked: tp-manager does not answer", "./launch.sh start"),
  }),
  ...of("queue", {
    "queue-right": ok("{pending} waiting, {parked} refused, {sent} sent"),
    "queue-waiting": ok("{pending} waiting, oldest {oldest}, {parked} refused, {sent} sent"),
  }),
  ...of("journal", {
    "journal-right": ok("payments by the rules: {count}"),
    "journal-faulty": fail(
      "{count} records break a rule about money",
      "./launch.sh audit lists them; send what it prints with --json to support",
    ),
    "journal-not-audited": warn("not audited: {detail}", "./launch.sh audit"),
  }),
  ...of("gateway", {
    "gateway-right": ok("{url} answers and accepts the login"),
    "gateway-silent": fail(
      "{url} has not answered within {seconds} s",
      "check network, proxy and firewall",
    ),
    "gateway-login-refused": fail(
      "{url} refuses login or password (HTTP {http})",
      "correct GATEWAY_LOGIN and GATEWAY_PWD, then ./launch.sh restart",
    ),
    "gateway-unclear": warn(
      "{url} answers with HTTP {http}; whether it accepts the login it does not say",
      "check GATEWAY_URL; the first payment will tell",
    ),
    "gateway-not-trusted": fail(
      "the certificate of {url} is not trusted: {detail}",
      "check GATEWAY_URL and the machine's clock, and any proxy that opens TLS",
    ),
    "gateway-no-name": fail(
      "{url} cannot be reached: {detail}",
      "check GATEWAY_URL and the machine's name server",
      "no address is found for the gateway's name",
    ),
    "gateway-out-of-reach": fail(
      "{url} cannot be reached: {detail}",
      "check GATEWAY_URL, network and firewall",
      "no connection to the gateway comes about",
    ),
  }),
  ...of("clock", {
    "clock-right": ok("{at}, time zone {zone}, as the gateway's"),
    "clock-alone": ok("{at}, time zone {zone} (not compared: no gateway)"),
    "clock-past": fail("{at}, time zone {zone} is in the past", clockTodo),
    "clock-away": warn("{at}, time zone {zone}, {seconds} s away from the gateway's", clockTodo),
  }),
  ...of("schedule", {
    "schedule-right": ok("{entry}", "what looks after the connector is set up"),
    "schedule-missing": warn("nothing relaunches what dies or hangs", "{install}"),
    "schedule-twice": warn(
      "{unit} and the keep-alive both look after the connector",
      "keep one of them: ./always-up.sh --uninstall",
    ),
    "schedule-no-cron": warn(
      "{entry}, but cron itself does not run",
      "start it: sudo systemctl enable --now cron",
    ),
    "schedule-unknown": warn(
      "{detail}",
      "{advice}",
      "whether anything relaunches the connector could not be found out",
    ),
  }),
  ...of("browser", {
    "browser-none": ok("no web page may call the local API (ALLOWED_ORIGINS is empty)"),
    "browser-right": ok("pages of {origins} may call the local API; {policy} set"),
    "browser-asks": warn(
      "pages of {origins} may call the local API",
      "set the enterprise policy {policy} to them, or Chrome and Edge ask at the screen",
    ),
  }),
  ...of("updates", {
    "updates-not-asked": ok("nobody is asked for any: UPDATE_URL is not set"),
    "updates-right": ok("{url} answers"),
    "updates-old": warn("what {url} offers has expired at {at}", serverTodo),
    "updates-silent": warn(
      "{detail}",
      serverTodo,
      "the update server does not answer as it should",
    ),
    "updates-none": warn("{url} offers no updates", serverTodo),
    "updates-stored-old": warn(
      "the stored metadata have expired at {at}",
      "./launch.sh update --check fetches newer ones, or says why not",
    ),
    "updates-no-room": warn(
      "{detail}",
      "make room, or no new version is taken",
      "the disk has no room for another version",
    ),
    "updates-held": warn(
      "held by {who} since {since}, until {until}",
      "./launch.sh update --now ends it",
    ),
    "updates-held-open": warn(
      "held by {who} since {since}, until somebody ends it",
      "./launch.sh update --now ends it",
    ),
  }),
};

export type FindingCode = keyof typeof findingTable;
