export type Verdict = "ok" | "warn" | "fail";

export interface FindingRow {
  /** The word at the head of the line. */
  readonly check: string;
  readonly verdict: Verdict;
  /** For the terminal, with values in braces. */
  readonly says: string;
  /** For the reference, where `says` tells values only, or the same as another code. */
  readonly means?: string;
  /** Advice for the terminal, also where all is well; missing: there is nothing to do. */
  readonly todo?: string;
}

const room = "make room: without it no payment can be written, and none is taken";
const clockTodo = "let the machine set its clock from the network (timedatectl set-ntp true)";
const resetAccess = 'as an administrator: icacls "{folder}" /reset, then {close}';
const serverTodo = "check network, clock, UPDATE_URL and UPDATE_CA_FILE; tell the publisher";

/**
 * The one table of what the doctor finds by itself, by the code that programs and the console know
 * it by (docs/design.md 9.1). A trouble has its own table and code (`troubleTable`); what keeps a
 * payment from being taken has the code of that payment's answer (`errorTable`).
 */
export const findingTable = {
  "doctor-no-report": {
    check: "doctor",
    verdict: "fail",
    says: "the doctor made no report: {detail}",
    todo: "run ./launch.sh doctor",
  },
  "node-right": {
    check: "node",
    verdict: "ok",
    says: "{version} ({path})",
    means: "a Node.js that the connector runs on",
  },
  "node-old": {
    check: "node",
    verdict: "fail",
    says: "{version} ({path})",
    todo: "remove node_modules and run ./launch.sh: it installs the right one",
    means: "this Node.js is too old",
  },
  "data-folder-right": {
    check: "data folder",
    verdict: "ok",
    says: "{folder}",
    means: "the data folder can be read and written",
  },
  "data-folder-closed": {
    check: "data folder",
    verdict: "fail",
    says: "{detail}",
    todo: "create it, or give it to the user who runs the connector (chown -R)",
    means: "the data folder is missing, or this user may not read and write it",
  },
  "disk-right": {
    check: "disk",
    verdict: "ok",
    says: "{free} MB free",
    means: "there is room for payments and logs",
  },
  "disk-low": {
    check: "disk",
    verdict: "warn",
    says: "{free} MB free",
    todo: room,
    means: "room is getting short",
  },
  "disk-full": {
    check: "disk",
    verdict: "fail",
    says: "{free} MB free",
    todo: room,
    means: "too little room is left to write a payment",
  },
  "disk-no-files": {
    check: "disk",
    verdict: "fail",
    says: "{free} MB free, but no room for more files",
    todo: room,
  },
  "access-right": {
    check: "access",
    verdict: "ok",
    says: "this user, the system and the administrators only",
  },
  "access-open": {
    check: "access",
    verdict: "fail",
    says: "everybody may use the data folder ({names})",
    todo: resetAccess,
  },
  "access-inherited": {
    check: "access",
    verdict: "fail",
    says: "the rights of the folder above hold here too",
    todo: "{close}",
  },
  "access-not-ours": {
    check: "access",
    verdict: "warn",
    says: "the user who runs this is not named",
    todo: "{close}",
  },
  "access-others": {
    check: "access",
    verdict: "warn",
    says: "besides the three also {names}",
    todo: resetAccess,
  },
  "access-unknown": {
    check: "access",
    verdict: "warn",
    says: "not known who may use the data folder: {detail}",
    todo: "look yourself: in the folder's properties, under Security",
  },
  "setup-right": { check: "config", verdict: "ok", says: "{file} is complete" },
  "setup-faulty": {
    check: "config",
    verdict: "fail",
    says: "{detail}",
    todo: "correct {file}, then ./launch.sh restart",
    means: "a setting is missing, or its value cannot be used",
  },
  "setup-unreadable": {
    check: "config",
    verdict: "fail",
    says: "{detail}",
    todo: "{advice}",
    means: "the setup file cannot be read",
  },
  "setup-doubtful": {
    check: "config",
    verdict: "warn",
    says: "{detail}",
    todo: "look at {file}",
    means: "a setting that works, but most likely not as it was meant",
  },
  "serial-network": { check: "serial port", verdict: "ok", says: "{port} is on the network" },
  "serial-right": {
    check: "serial port",
    verdict: "ok",
    says: "{port}",
    means: "the port is there and can be opened",
  },
  "serial-numbered": {
    check: "serial port",
    verdict: "ok",
    says: "{port}",
    todo: "SERIAL_PORT={address} would find it under any number",
    means: "the port is there, under a number that may change",
  },
  "serial-several": {
    check: "serial port",
    verdict: "fail",
    says: "{address} fits {ports}",
    means: "more than one port fits what SERIAL_PORT says",
    todo: "add the serial number, or name one below /dev/serial/by-id",
  },
  "serial-missing": {
    check: "serial port",
    verdict: "fail",
    says: "{address} is not there",
    means: "this port is missing, others are there",
    todo: "set SERIAL_PORT to one of {ports}",
  },
  "serial-none": {
    check: "serial port",
    verdict: "fail",
    says: "{address} is not there",
    means: "this machine has no serial port",
    todo: "plug the terminal in and switch it on: this machine has no serial port at all",
  },
  "serial-no-port": {
    check: "serial port",
    verdict: "fail",
    says: "{port} is no serial port",
    todo: "set SERIAL_PORT to one: {ports}",
  },
  "serial-not-allowed": {
    check: "serial port",
    verdict: "fail",
    says: "{user} may not open {port}",
    todo: "sudo usermod -aG {group} {user}, then log out and in again, or reboot",
    means: "the user is not in the group that may open it",
  },
  "serial-log-in-again": {
    check: "serial port",
    verdict: "fail",
    says: "{user} may not open {port}",
    todo: "{user} is in the group {group} but logged in before: log out and in, or reboot",
    means: "the user joined the group after logging in",
  },
  "serial-of-root": {
    check: "serial port",
    verdict: "fail",
    says: "{user} may not open {port}",
    todo: "it belongs to root alone: sudo chgrp dialout {port}; sudo chmod 660 {port}",
    means: "the port belongs to root and no group may open it",
  },
  "serial-in-use": {
    check: "serial port",
    verdict: "fail",
    says: "{port} is in use by process {pid} ({program})",
    todo: "end that program: only one can talk to the terminal",
  },
  "port-ours": { check: "local port", verdict: "ok", says: "{port} is tp-manager's" },
  "port-free": {
    check: "local port",
    verdict: "ok",
    says: "{port} is free",
    means: "tp-manager does not run, and its port can be used",
  },
  "port-in-use": {
    check: "local port",
    verdict: "warn",
    todo: "see tp-manager",
    says: "{port} is in use, most likely by tp-manager",
  },
  "port-taken": {
    check: "local port",
    verdict: "fail",
    says: "another program listens on {port}",
    todo: "end that program, or choose another LOCAL_PORT and tell the kiosk software",
  },
  "port-unusable": {
    check: "local port",
    verdict: "fail",
    says: "{port} cannot be used: {detail}",
    todo: "choose one from 1024 to 65535",
  },
  "port-changed": {
    check: "local port",
    verdict: "warn",
    says: "tp-manager still listens on {before}, the setup file says {port}",
    todo: "./launch.sh restart",
  },
  "page-served": {
    check: "pages",
    verdict: "ok",
    says: "{setting}: http://localhost:{port}/",
    means: "the console, or the kiosk's own pages, are served there",
  },
  "page-free": {
    check: "pages",
    verdict: "ok",
    says: "{setting} {port} is free",
    means: "tp-manager does not run, and the page's port can be used",
  },
  "page-in-use": {
    check: "pages",
    verdict: "warn",
    todo: "see tp-manager",
    says: "{setting} {port} is in use, most likely by tp-manager",
  },
  "page-taken": {
    check: "pages",
    verdict: "fail",
    says: "another program listens on {setting} {port}: the page is missing, payments go on",
    todo: "end that program, or set another {setting}; then ./launch.sh restart",
  },
  "page-missing": {
    check: "pages",
    verdict: "fail",
    says: "{setting} {port} is not served: {detail}",
    todo: "set {setting} right; then ./launch.sh restart",
  },
  "page-changed": {
    check: "pages",
    verdict: "warn",
    says: "tp-manager does not serve {setting} {port} of the setup file yet",
    todo: "./launch.sh restart",
  },
  "program-runs": {
    check: "{program}",
    verdict: "ok",
    says: "pid {pid}, version {version}, up {up}",
  },
  "program-silent": {
    check: "{program}",
    verdict: "fail",
    says: "pid {pid} does not answer: {detail}",
    todo: "./launch.sh restart",
  },
  "program-stopped-on-purpose": {
    check: "{program}",
    verdict: "warn",
    says: "stopped on purpose since {since}",
    todo: "./launch.sh start",
  },
  "program-stopped": {
    check: "{program}",
    verdict: "fail",
    says: "does not run",
    todo: "./launch.sh start; it says why if it cannot",
  },
  "terminal-ready": {
    check: "terminal",
    verdict: "ok",
    says: "{name} {status}",
    means: "a payment would be taken",
  },
  "terminal-doubtful": {
    check: "terminal",
    verdict: "warn",
    says: "{name} {status}: {detail}",
    todo: "look at it",
    means: "a payment would be taken, but the terminal told of a problem",
  },
  "terminal-in-doubt": {
    check: "terminal",
    verdict: "warn",
    says: "{name} {status}; payments in doubt: {count}",
    todo:
      "see the terminal's own journal, then settle them at the console, In doubt; " +
      "GET /payments?status=Unknown names them",
  },
  "terminal-other-register": {
    check: "terminal",
    verdict: "warn",
    says: "{name} gives another register number back than it is sent",
    todo:
      "set the register's number in the setup file to the one of the terminal; until then a " +
      "result of another register is not told from ours by it",
  },
  "assumption-on": {
    check: "assumptions",
    verdict: "ok",
    says: "{name}: {detail}",
    means: "this is taken for granted of the terminal (docs/matching.md)",
  },
  "assumption-off": {
    check: "assumptions",
    verdict: "ok",
    says: "{name}: off with {detail}",
    means: "this is not taken for granted here",
  },
  "fact-shown": {
    check: "assumptions",
    verdict: "ok",
    says: "{name}: this terminal {detail}",
  },
  "fact-not-shown": {
    check: "assumptions",
    verdict: "ok",
    says: "{name}: this terminal has not shown yet that it {detail}",
  },
  "fact-not-always": {
    check: "assumptions",
    verdict: "ok",
    says: "{name}: seen otherwise, so not relied on: this terminal {detail}",
  },
  "terminal-not-asked": {
    check: "terminal",
    verdict: "warn",
    says: "not asked: tp-manager does not answer",
    todo: "./launch.sh start",
  },
  "queue-right": {
    check: "queue",
    verdict: "ok",
    says: "{pending} waiting, {parked} refused, {sent} sent",
  },
  "queue-waiting": {
    check: "queue",
    verdict: "ok",
    says: "{pending} waiting, oldest {oldest}, {parked} refused, {sent} sent",
  },
  "journal-right": { check: "journal", verdict: "ok", says: "payments by the rules: {count}" },
  "journal-faulty": {
    check: "journal",
    verdict: "fail",
    says: "{count} records break a rule about money",
    todo: "./launch.sh audit lists them; send what it prints with --json to support",
  },
  "journal-not-audited": {
    check: "journal",
    verdict: "warn",
    says: "not audited: {detail}",
    todo: "./launch.sh audit",
  },
  "gateway-right": { check: "gateway", verdict: "ok", says: "{url} answers and accepts the login" },
  "gateway-silent": {
    check: "gateway",
    verdict: "fail",
    says: "{url} has not answered within {seconds} s",
    todo: "check network, proxy and firewall",
  },
  "gateway-login-refused": {
    check: "gateway",
    verdict: "fail",
    says: "{url} refuses login or password (HTTP {http})",
    todo: "correct GATEWAY_LOGIN and GATEWAY_PWD, then ./launch.sh restart",
  },
  "gateway-unclear": {
    check: "gateway",
    verdict: "warn",
    says: "{url} answers with HTTP {http}; whether it accepts the login it does not say",
    todo: "check GATEWAY_URL; the first payment will tell",
  },
  "gateway-not-trusted": {
    check: "gateway",
    verdict: "fail",
    says: "the certificate of {url} is not trusted: {detail}",
    todo: "check GATEWAY_URL and the machine's clock, and any proxy that opens TLS",
  },
  "gateway-no-name": {
    check: "gateway",
    verdict: "fail",
    says: "{url} cannot be reached: {detail}",
    todo: "check GATEWAY_URL and the machine's name server",
    means: "no address is found for the gateway's name",
  },
  "gateway-out-of-reach": {
    check: "gateway",
    verdict: "fail",
    says: "{url} cannot be reached: {detail}",
    todo: "check GATEWAY_URL, network and firewall",
    means: "no connection to the gateway comes about",
  },
  "clock-right": {
    check: "clock",
    verdict: "ok",
    says: "{at}, time zone {zone}, as the gateway's",
  },
  "clock-alone": {
    check: "clock",
    verdict: "ok",
    says: "{at}, time zone {zone} (not compared: no gateway)",
  },
  "clock-past": {
    check: "clock",
    verdict: "fail",
    says: "{at}, time zone {zone} is in the past",
    todo: clockTodo,
  },
  "clock-away": {
    check: "clock",
    verdict: "warn",
    todo: clockTodo,
    says: "{at}, time zone {zone}, {seconds} s away from the gateway's",
  },
  "schedule-right": {
    check: "schedule",
    verdict: "ok",
    says: "{entry}",
    means: "what looks after the connector is set up",
  },
  "schedule-missing": {
    check: "schedule",
    verdict: "warn",
    says: "nothing relaunches what dies or hangs",
    todo: "{install}",
  },
  "schedule-twice": {
    check: "schedule",
    verdict: "warn",
    says: "{unit} and the keep-alive both look after the connector",
    todo: "keep one of them: ./always-up.sh --uninstall",
  },
  "schedule-no-cron": {
    check: "schedule",
    verdict: "warn",
    says: "{entry}, but cron itself does not run",
    todo: "start it: sudo systemctl enable --now cron",
  },
  "schedule-unknown": {
    check: "schedule",
    verdict: "warn",
    says: "{detail}",
    todo: "{advice}",
    means: "whether anything relaunches the connector could not be found out",
  },
  "browser-none": {
    check: "browser",
    verdict: "ok",
    says: "no web page may call the local API (ALLOWED_ORIGINS is empty)",
  },
  "browser-right": {
    check: "browser",
    verdict: "ok",
    says: "pages of {origins} may call the local API; {policy} set",
  },
  "browser-asks": {
    check: "browser",
    verdict: "warn",
    says: "pages of {origins} may call the local API",
    todo: "set the enterprise policy {policy} to them, or Chrome and Edge ask at the screen",
  },
  "updates-not-asked": {
    check: "updates",
    verdict: "ok",
    says: "nobody is asked for any: UPDATE_URL is not set",
  },
  "updates-right": { check: "updates", verdict: "ok", says: "{url} answers" },
  "updates-old": {
    check: "updates",
    verdict: "warn",
    todo: serverTodo,
    says: "what {url} offers has expired at {at}",
  },
  "updates-silent": {
    check: "updates",
    verdict: "warn",
    says: "{detail}",
    todo: serverTodo,
    means: "the update server does not answer as it should",
  },
  "updates-none": {
    check: "updates",
    verdict: "warn",
    says: "{url} offers no updates",
    todo: serverTodo,
  },
  "updates-stored-old": {
    check: "updates",
    verdict: "warn",
    says: "the stored metadata have expired at {at}",
    todo: "./launch.sh update --check fetches newer ones, or says why not",
  },
  "updates-no-room": {
    check: "updates",
    verdict: "warn",
    says: "{detail}",
    todo: "make room, or no new version is taken",
    means: "the disk has no room for another version",
  },
  "updates-held": {
    check: "updates",
    verdict: "warn",
    says: "held by {who} since {since}, until {until}",
    todo: "./launch.sh update --now ends it",
  },
  "updates-held-open": {
    check: "updates",
    verdict: "warn",
    says: "held by {who} since {since}, until somebody ends it",
    todo: "./launch.sh update --now ends it",
  },
} as const satisfies Record<string, FindingRow>;

export type FindingCode = keyof typeof findingTable;
