import { type Mutation, oneEdit } from "./mutation.ts";

const table = "src/tp-manager/matching/by-id.ts";
const asked = ["test/tp-manager/arbiter/asked-by-id.test.ts"];
const driven = ["test/tp-manager/terminal/nexo/payment.test.ts"];
const answers = ["test/tp-manager/terminal/nexo/answers.test.ts"];
const contradicts =
  "unless an id in it, or a record that the journal has already, contradicts that";

/** What a terminal proves that is asked about a command by its reference. */
export const byIdMutations: readonly Mutation[] = [
  oneEdit("the ids in a repeated answer", ["matching", contradicts], driven, [
    "src/tp-manager/terminal/nexo/answer-policy.ts",
    "ids.every((id) => id === own.serviceId) &&",
    "ids.every((id) => id !== undefined) &&",
  ]),
  oneEdit("the record of another order in a repeated answer", ["matching", contradicts], asked, [
    table,
    'recalled === "answered" && otherCandidate !== null,',
    'recalled === "not-told" && otherCandidate !== null,',
  ]),
  oneEdit(
    "the caution about a command that the terminal does not know",
    ["matching", "proves nothing after that"],
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
      "if (terminal.recall) return;",
      "if (terminal.cancel === undefined) return;",
    ],
  ),
  oneEdit(
    "a reversal that was sent before",
    ["16-fresh", "a reversal of it was sent before and may have been carried out"],
    asked,
    [
      "src/tp-manager/matching/fresh-number.ts",
      "return mayBeReversed(events) ?",
      "return events.length < 0 ?",
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
    ["matching", "While the terminal carries the command out, it has not answered"],
    answers,
    [
      "src/tp-manager/terminal/nexo/answer-policy.ts",
      'return { remembered: "no-answer", isBusy: condition === "busy", why };',
      "return unclear(why);",
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
