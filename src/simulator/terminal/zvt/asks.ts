import { container, type FieldInputs, findTags, tag, tagValue } from "../../../zvt/index.ts";
import { type CardName, testCards } from "../bank/cards.ts";
import { localTime, type Outgoing, type Parts } from "./machine/parts.ts";
import { type Answer, type Process, readable } from "./machine/process.ts";
import { zvtCard } from "./machine/report.ts";
import { code } from "./machine/sale.ts";
import { type Asked, type AskKind, type AskOnce, askKinds, askNames } from "./options.ts";

/** The terminal's requests before it asks the bank. A signature is requested after the approval. */
export const beforeHost = askNames.filter((kind) => kind !== "signature");

/** Makes the due requests to the register. Returns the result code if one ends the payment. */
export async function askRegister(
  process: Process,
  occasion: AskOnce["occasion"],
  kinds: readonly AskKind[],
  card?: CardName,
): Promise<number | undefined> {
  const { parts } = process;
  const note = (answered: Asked): void => {
    if (parts.asked.push(answered) > ASKED_MAX) parts.asked.shift();
  };
  for (const kind of due(parts, occasion, kinds)) {
    if (!parts.registration.permitted.has(askKinds[kind].control)) {
      note({ kind, answer: "not permitted" });
      continue;
    }
    const answer = await asked(process, kind, card ?? parts.options.behaviour.card);
    note(noted(kind, answer));
    const end = endOf(kind, answer);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Returns the requests of `kinds` that are due, and forgets the requests to be made only once. */
function due(
  { asksOnce, options }: Parts,
  occasion: AskOnce["occasion"],
  kinds: readonly AskKind[],
): readonly AskKind[] {
  return kinds.filter((kind) => {
    const at = asksOnce.findIndex((once) => once.kind === kind && once.occasion === occasion);
    if (at >= 0) asksOnce.splice(at, 1);
    return at >= 0 || (occasion === "payment" && options.behaviour.asks.includes(kind));
  });
}

async function asked(process: Process, kind: AskKind, card: CardName): Promise<Answer> {
  const { pace, timers } = process.parts.options;
  // A person chooses or types at the register, which can take as long as presenting a card.
  const timeoutMs = Math.max(pace.cardWaitMs, timers.t3Ms);
  const asks: Record<AskKind, () => Promise<Answer>> = {
    menu: () => process.say("menu-request", applicationMenu(card), { timeoutMs }),
    input: () => process.say("input-request", mileageInput, { timeoutMs }),
    "blocked-list": () => askUntilKnown(process, card),
    signature: () => showSignature(process, timeoutMs),
    "set-clock": () => process.say("set-register-time", clockOf(process)),
    "dial-up": () => process.sayBare(askKinds["dial-up"].control),
  };
  return await asks[kind]();
}

/** Returns the result code if the answer ends the payment; 84 83 does not (docs/zvt.md 7.4). */
function endOf(kind: AskKind, answer: Answer): number | undefined {
  if (answer.kind === "silent") return code.aborted;
  if (answer.kind === "negative") {
    const alone = answer.code === code.notPossible || kind === "set-clock" || kind === "dial-up";
    if (alone) return undefined;
    return kind === "blocked-list" ? code.cardBlocked : code.aborted;
  }
  const isRefused =
    (kind === "input" && typedIn(answer) === undefined) ||
    (kind === "signature" && chosenIn(answer) !== SIGNATURE_RIGHT);
  return isRefused ? code.aborted : undefined;
}

function noted(kind: AskKind, answer: Answer): Asked {
  if (answer.kind === "silent") return { kind, answer: "silent" };
  const chosen = chosenIn(answer);
  const typed = typedIn(answer);
  return {
    kind,
    answer: answer.apdu.control.toString(16),
    ...(chosen === undefined ? {} : { chosen }),
    ...(typed === undefined ? {} : { typedCharacters: typed }),
  };
}

function chosenIn(answer: Answer): number | undefined {
  return tagValue(tagsOf(answer), "menuReturn");
}

/** Returns how many characters were typed; undefined: nothing was typed in time. */
function typedIn(answer: Answer): number | undefined {
  const found = findTags(tagsOf(answer), "input", "inputText")[0]?.value;
  return found && typeof found === "object" && "hiddenBytes" in found
    ? found.hiddenBytes
    : undefined;
}

function tagsOf(answer: Answer) {
  return (answer.kind !== "silent" && readable(answer.apdu)?.tags) || null;
}

/** The tags that begin a menu, in which the cardholder chooses (docs/zvt.md 11.2). */
const menuHead = [tag("menuType", 0x01), tag("menuContext", 0x02), tag("menuTarget", 0x02)];

function menuItem(text: string, value: number) {
  return container("menuItem", [tag("textLine", text), tag("menuReturn", value)]);
}

function applicationMenu(card: CardName): Outgoing {
  const { label, scheme } = testCards[card];
  const items = [menuItem(label, 1), menuItem(`${scheme} credit`, 2)];
  return { tags: [container("menu", [...menuHead, ...items])] };
}

const MILEAGE_DIGITS_MAX = 6;

const mileageInput: Outgoing = {
  tags: [
    container("input", [
      container("displayTexts", [tag("textLine", "Mileage")]),
      tag("inputLength", Uint8Array.of(MILEAGE_DIGITS_MAX)),
      tag("inputMinLength", Uint8Array.of(1)),
    ]),
  ],
};

/** The number of answers of the register that `GET /state` shows, newest last. */
const ASKED_MAX = 100;

const ASKS_MAX = 10;

/** Asks the register about a card, again after each answer 84 9C ("ask again", docs/zvt.md 7.4). */
async function askUntilKnown(process: Process, name: CardName): Promise<Answer> {
  const { maskedDigits: pan, expiry, sequence: cardSequence, cardType } = zvtCard(name);
  const fields: FieldInputs = { pan, expiry, cardSequence, cardType };
  for (let asks = 1; ; asks++) {
    const answer = await process.say("blocked-list-query", { fields });
    const again = answer.kind === "negative" && answer.code === code.askAgain;
    if (!again || asks === ASKS_MAX) return answer;
    await process.pause("blocked list", process.parts.options.pace.goodsPauseMs);
  }
}

const SIGNATURE_RIGHT = 1;
const CHUNK_BYTES = 64;

/** Sends the picture of a signature in pieces; the last answer says whether it is accepted. */
async function showSignature(process: Process, timeoutMs: number): Promise<Answer> {
  const imageId = Uint8Array.of(0, 0, 0, 1);
  const count = Math.ceil(signatureImage.length / CHUNK_BYTES);
  const items = [menuItem("Signature is right", SIGNATURE_RIGHT), menuItem("is wrong", 2)];
  for (let index = 0; ; index++) {
    const last = index === count - 1;
    const chunk = signatureImage.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
    const head: FieldInputs = { imageId, imageSize: signatureImage.length, imageType: 0 };
    const fields = { ...head, imageEncoding: 0, imageChunks: count, imageChunk: index };
    const menu = index === 0 ? [container("menu", [...menuHead, ...items])] : [];
    const piece = { fields, tags: [...menu, tag("fileBlock", chunk)] };
    const answer = await process.say("menu-with-image", piece, last ? { timeoutMs } : {});
    if (last || answer.kind !== "positive") return answer;
  }
}

/** Returns the message 04 01, which sets the register's clock to the terminal's time. */
export function clockOf({ parts }: Process): Outgoing {
  const { date, time } = localTime(parts.now);
  return { fields: { dateYYMMDD: date.slice(2), time } };
}

/** A picture of a signature: 64 by 16 points, a BMP of two colours in Base64. */
const signatureImage = Buffer.from(
  "Qk2+AAAAAAAAAD4AAAAoAAAAQAAAABAAAAABAAEAAAAAAIAAAADEDgAAxA4AAAAAAAAAAAAAAAAAAP///wD/////" +
    "///////////////////4H///+D////fv///nz///7/f//9/3///f+///v/v//7/9//9/////f/7///////7//3/+" +
    "////////v/3//9/9///f+///7/v//+/3///35///9+////gf///4H////////////////////////w==",
  "base64",
);
