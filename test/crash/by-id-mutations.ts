import { type Mutation, oneEdit } from "./mutation.ts";

const table = "src/tp-manager/matching/by-id.ts";
const asked = ["test/tp-manager/arbiter/asked-by-id.test.ts"];
const limit = ["test/tp-manager/arbiter/asked-to-its-limit.test.ts"];
const requested = ["test/tp-manager/arbiter/requested-reversal.test.ts"];
const driven = ["test/tp-manager/terminal/nexo/payment.test.ts"];
const answers = ["test/tp-manager/terminal/nexo/answers.test.ts"];
const notified = ["test/tp-manager/terminal/nexo/notifications.test.ts"];
const contradicts =
  "unless an id in it, or a record that the journal has already, contradicts that";

/** What a terminal proves that is asked about a command by its reference. */
export const byIdMutations: readonly Mutation[] = [
  oneEdit("the ids in a repeated answer", ["matching", contradicts], driven, [
    "src/tp-manager/terminal/nexo/answer-policy.ts",
    "ids.every((id) => id === own.serviceId) &&",
    "ids.every((id) => id !== undefined) &&",
  ]),
  oneEdit(
    "the name of a payment in a repeated answer",
    ["37-by-id", "our question, which it repeats too, does not count"],
    answers,
    ["src/tp-manager/terminal/nexo/answer-policy.ts", "    isNamed &&\n", ""],
  ),
  oneEdit("the record of another order in a repeated answer", ["matching", contradicts], asked, [
    table,
    'recalled === "answered" && otherCandidate !== null,',
    'recalled === "not-told" && otherCandidate !== null,',
  ]),
  oneEdit(
    "the caution about a command that the terminal does not know",
    ["matching", "after that this proves nothing"],
    asked,
    [
      "src/tp-manager/matching/assumptions.ts",
      '"not-found-is-final": byId("off"),',
      '"not-found-is-final": byId("on"),',
    ],
  ),
  oneEdit(
    "the amount in a repeated answer",
    ["matching", "An approval of another amount than asked leaves the order in doubt"],
    asked,
    [
      table,
      'recalled === "answered" && unfit !== null,',
      'recalled === "not-told" && unfit !== null,',
    ],
  ),
  oneEdit(
    "an earlier answer about the same command",
    ["matching", "An answer that contradicts an earlier one"],
    asked,
    [
      table,
      'facts.recalled === "answered" && isOtherAnswer(facts),',
      'facts.recalled === "not-told" && isOtherAnswer(facts),',
    ],
  ),
  oneEdit(
    "an unclear report before a remembered failure",
    ["matching", "or the report of the command itself, leaves the order in doubt"],
    asked,
    [table, "&& (good !== null || unclear),", "&& good !== null,"],
  ),
  oneEdit(
    "the silence of a later command about an order that is asked by id",
    ["matching", "What a later command finds says nothing about an order"],
    asked,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "if (terminal.recall) {",
      "if (terminal.cancel === undefined) {",
    ],
  ),
  oneEdit(
    "a reversal that was sent before",
    ["16-fresh", "a reversal of it was sent before and may have been carried out"],
    requested,
    [
      "src/tp-manager/matching/fresh-number.ts",
      "return isSpent ?",
      "return isSpent && events.length < 0 ?",
    ],
  ),
  oneEdit(
    "the header outside of the protection",
    ["matching", "the answer belongs to the attempt that it was asked about"],
    driven,
    [
      "src/nexo/envelope.ts",
      "if (inner.root !== root || !isSame(outer, message.header)) {",
      "if (inner.root !== root) {",
    ],
  ),
  oneEdit(
    "the caution about a question that was not answered",
    ["matching", "A question that the terminal did not answer is asked again"],
    answers,
    [
      "src/tp-manager/terminal/nexo/answer-policy.ts",
      'return { remembered: "no-answer", isBusy: condition === "busy", why };',
      "return unclear(why);",
    ],
  ),
  oneEdit(
    "the time limit of a question that is answered with something else",
    ["37-by-id", "is asked again until the time limit is over, and a `/cancel` leaves"],
    limit,
    [
      table,
      '(recalled === "not-told" || otherCandidate !== null) && silenceLeftMs > 0,',
      "otherCandidate !== null && silenceLeftMs > 0,",
    ],
  ),
  oneEdit(
    "the alarm about a question that always fails",
    ["15-not-yet", "a question that always fails ends at the time limit of its command"],
    limit,
    [
      "src/tp-manager/arbiter/inquiries.ts",
      "if (delays && isThere) this.#guarded(",
      "if (delays && !isThere) this.#guarded(",
    ],
  ),
  oneEdit(
    "the command of another kind of terminal",
    ["37-by-id", "never ends a command of another kind of terminal"],
    limit,
    [
      "src/tp-manager/arbiter/recovery.ts",
      'if (this.#isOfOtherKind(now)) return { verdict: "unsettled", because: OTHER_KIND };',
      "",
    ],
  ),
  oneEdit(
    "the answer of a terminal that still runs",
    ["37-by-id", "the command runs, also in a repeated answer"],
    answers,
    [
      "src/tp-manager/terminal/nexo/answer-policy.ts",
      'if (condition === "busy" && busyWith === own.serviceId) return',
      'if (condition === "busy" && busyWith === "") return',
    ],
  ),
  oneEdit(
    "the alarm about a command that runs for ever",
    ["37-by-id", "after its time limit the order stays"],
    asked,
    [
      table,
      'carries the command out, after its time limit",\n    sale: "unsettled",',
      'carries the command out, after its time limit",\n    sale: "no-answer",',
    ],
  ),
  oneEdit(
    "the cancel of a lost payment that still runs",
    ["06-timeout", "one cancel with the id of this payment is sent"],
    asked,
    [
      "src/tp-manager/arbiter/recovery.ts",
      'if (said && said !== "answered" && said !== "not-found") this.lost.abortLate(now);',
      "",
    ],
  ),
  oneEdit(
    "the cancel of a lost payment while the disk fails",
    ["37-by-id", "one `AbortRequest` with its id leaves, also while the disk fails"],
    limit,
    [
      "src/tp-manager/arbiter/lost-commands.ts",
      'log.error(detail, "the cancel could not be written to the journal");',
      "throw error;",
    ],
  ),
  oneEdit(
    "the time before an operator decides about an order that is asked by id",
    ["37-by-id", "is refused with `PAYMENT_RUNNING` until the time limit of the command is over"],
    limit,
    [
      "src/tp-manager/arbiter/terminal-arbiter.ts",
      "if (leftMs > 0) {",
      "if (leftMs > 0 && attempt.number === 0) {",
    ],
  ),
  oneEdit(
    "the question after a failure whose end was not stored",
    ["37-by-id", "after a failure one question"],
    asked,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "const isBad = isPaying(state) && state.last?.report.good === false;",
      "const isBad = isPaying(state) && state.last === null;",
    ],
  ),
  oneEdit(
    "the name of the register as it was at the command",
    ["37-by-id", "so that a changed `NEXO_SALE_ID` does not hide an"],
    asked,
    [
      "src/tp-manager/attempts/reference-policy.ts",
      "reference: own, registerId: baseline?.registerId };",
      'reference: own, registerId: "" };',
    ],
  ),
  oneEdit(
    "the name in the certificate of a refusal in clear",
    ["37-by-id", "the certificate names our terminal itself, and not only its maker"],
    driven,
    [
      "src/tp-manager/terminal/nexo/exchange.ts",
      "const isProof = isNamed && (",
      "const isProof = (",
    ],
  ),
  oneEdit(
    "the serial number in the certificate",
    ["37-by-id", "and names our terminal, whatever the environment"],
    driven,
    [
      "src/tp-manager/terminal/nexo/https-post.ts",
      "read.serial.toUpperCase() !== to.serialNumber.toUpperCase();",
      "read.serial === to.host;",
    ],
  ),
  oneEdit(
    "the check of the certificate against the environment",
    ["37-by-id", "whatever the environment of the program says"],
    driven,
    ["src/tp-manager/terminal/nexo/https-post.ts", "    rejectUnauthorized: true,\n", ""],
  ),
  oneEdit(
    "the ServiceID of an answer",
    ["37-by-id", "its category and its ids are those of the request"],
    answers,
    [
      "src/tp-manager/terminal/nexo/exchange.ts",
      'if (header.ServiceID !== ids.serviceId) return "it has another ServiceID";',
      "",
    ],
  ),
  oneEdit(
    "the busy terminal that names our own payment",
    ["37-by-id", "never as a refusal: the command runs"],
    driven,
    [
      "src/tp-manager/terminal/nexo/nexo-terminal.ts",
      "if (busyWith === reference) return",
      "if (busyWith === text) return",
    ],
  ),
  oneEdit(
    "the failure after an approval",
    ["37-by-id", "a failure that shows an approval"],
    driven,
    [
      "src/tp-manager/terminal/nexo/answer-policy.ts",
      "texts.some((one) => /approved/i.test(one))",
      "texts.length === 0",
    ],
  ),
  oneEdit(
    "the code of authenticity of a notification",
    ["6.4", "counts only if it is protected with the key"],
    notified,
    [
      "src/nexo/envelope.ts",
      "if (!plain || !hmac || !timingSafeEqual(hmacOf(plain, key), hmac)) {",
      "if (!plain || !hmac) {",
    ],
  ),
  oneEdit(
    "the payment that a notification names",
    ["6.4", "and names the running payment"],
    notified,
    [
      "src/tp-manager/terminal/nexo/progress.ts",
      "if (header.ServiceID !== serviceId || ",
      "if (header.ServiceID === undefined || ",
    ],
  ),
  oneEdit(
    "the amount of a return that ends a requested reversal",
    ["07-returns", "When the gateway says that the whole amount went back"],
    requested,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "if (!isPassedOn(attempt.state) || !isWhole) return false;",
      "if (!isPassedOn(attempt.state)) return false;",
    ],
  ),
  oneEdit(
    "an operator's finding about a reversal that was passed on",
    ["07-returns", "`reversed` counts as this return of the gateway"],
    requested,
    [
      "src/tp-manager/attempts/reversal-machine.ts",
      'if (input.outcome === "charged" || isPassedOn(state)) {',
      'if (input.outcome === "charged") {',
    ],
  ),
  oneEdit(
    "a return that is notified before the reversal is passed on",
    ["07-returns", "also when the gateway says so before the terminal has answered"],
    requested,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "if (this.returned(attempt)) return Promise.resolve();",
      "if (attempt.number < 0) return Promise.resolve();",
    ],
  ),
  oneEdit(
    "the alarm about a reversal of which nobody hears",
    ["07-returns", "After 24 hours without either the alarm"],
    requested,
    [
      "src/tp-manager/arbiter/recovery.ts",
      "const isLate = this.#parts.clock.now() - beganAtMs >= REQUESTED_ALARM_MS;",
      "const isLate = beganAtMs >= REQUESTED_ALARM_MS && REQUESTED_ALARM_MS < 0;",
    ],
  ),
  oneEdit(
    "the masking of this protocol's texts",
    ["6.2", "The connector keeps at most the first"],
    answers,
    [
      "src/nexo/values.ts",
      "return maskPansInText(text).slice(0, SAFE_MAX);",
      "return text.slice(0, SAFE_MAX);",
    ],
  ),
  oneEdit(
    "the probes of a silent connection of this protocol",
    ["6.3", "The operating system probes a silent TCP connection, so that a pulled cable ends it"],
    driven,
    [
      "src/tp-manager/terminal/nexo/https-post.ts",
      "return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);",
      "return socket.setNoDelay(true);",
    ],
  ),
];
