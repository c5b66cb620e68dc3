import { randomBytes } from "node:crypto";
import {
  type HeaderIds,
  headerFor,
  NexoCodecError,
  type NexoMessage,
  NONCE_BYTES,
  readMessage,
  readRefusal,
  safeText,
  writeMessage,
} from "../../../nexo/index.ts";
import { withAdvice } from "./advice.ts";
import { type Posted, post } from "./https-post.ts";
import type { NexoContext } from "./nexo-options.ts";

/** A request, without what every request has. */
interface Question {
  readonly category: string;
  readonly body: object;
  /** The id of the request; missing: a new one. */
  readonly serviceId?: string;
  readonly answerMs?: number;
  readonly withdrawal?: AbortSignal;
  readonly onSending?: () => void;
  readonly signal?: AbortSignal;
}

/** What came back of a request. */
export type Reply =
  /** The genuine answer to this very request. */
  | { readonly reply: "answer"; readonly message: NexoMessage }
  /** The terminal has not understood the request, and began nothing (docs/nexo.md 9.2). */
  | { readonly reply: "refused"; readonly problem: string; readonly isOfForm: boolean }
  /** The terminal has the request and answers it without a message, as every abort. */
  | { readonly reply: "bare" }
  | { readonly reply: "not-sent"; readonly problem: string }
  /** Whether the terminal has the request, or what it answered, is not known. */
  | { readonly reply: "unread"; readonly problem: string };

const ANSWER_MS = 10_000;
const OK = 200;
const OK_MAX = 299;
const BAD_REQUEST = 400;
const ID_BYTES = 5;
/**
 * Later than this, it may be the answer to a request carried out that could not be protected; that
 * to a reversal may be so at once, because the terminal only passes it on.
 */
const KEY_REFUSAL_MS = 2_000;

/** Sends requests to the terminal and reads their answers. */
export class Exchange {
  readonly #context: NexoContext;
  readonly #closed = new AbortController();

  constructor(context: NexoContext) {
    this.#context = context;
  }

  close(): void {
    this.#closed.abort(new Error("the connector stops"));
  }

  /** Sends a request once. Never rejects. */
  async ask(question: Question): Promise<Reply> {
    const { clock, options } = this.#context;
    const { category, body, serviceId = newServiceId(), signal, withdrawal, onSending } = question;
    const ids: HeaderIds = { saleId: options.saleId, serviceId, poiId: options.poiId };
    const header = headerFor(category, "Request", ids);
    const name = `${category}Request`;
    const message: NexoMessage = { root: "SaleToPOIRequest", header, name, body };
    const text = writeMessage(message, options.key, randomBytes(NONCE_BYTES));
    const ended = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal;
    const { answerMs = ANSWER_MS } = question;
    let sentMs = clock.monotonicMs();
    const sending = (): void => {
      sentMs = clock.monotonicMs();
      onSending?.();
    };
    const limits = { clock, answerMs, signal: ended, withdrawal, onSending: sending };
    const posted = await post(options.address, text, limits);
    const isEarly = clock.monotonicMs() - sentMs <= KEY_REFUSAL_MS;
    const reply = this.#read(posted, ids, category, isEarly);
    // The advice comes after the masked text, whose length is limited.
    return "problem" in reply ? { ...reply, problem: withAdvice(safeText(reply.problem)) } : reply;
  }

  #read(posted: Posted, ids: HeaderIds, category: string, isEarly: boolean): Reply {
    if (posted.posted === "not-sent") return { reply: "not-sent", problem: posted.problem };
    if (posted.posted === "lost") return { reply: "unread", problem: posted.problem };
    const { status, text, isNamed } = posted;
    if (status === BAD_REQUEST) {
      const refusal = readRefusal(text);
      const problem = refusal?.text ?? "the terminal answered HTTP status 400";
      const isOfForm = refusal?.about === "form";
      // In clear, only the certificate says who refuses: it must name our terminal.
      const isOfKey = refusal?.about === "key" && isEarly && category !== "Reversal";
      const isProof = isNamed && (isOfForm || isOfKey);
      return isProof ? { reply: "refused", problem, isOfForm } : { reply: "unread", problem };
    }
    if (status < OK || status > OK_MAX)
      return { reply: "unread", problem: `the answer has HTTP status ${status}` };
    if (/^\s*(ok|\{\s*\})?\s*$/i.test(text)) return { reply: "bare" };
    try {
      const message = readMessage(text, this.#context.options.key);
      const fault = faultOf(message, ids, category);
      return fault === undefined
        ? { reply: "answer", message }
        : { reply: "unread", problem: `the answer is that of another request: ${fault}` };
    } catch (error) {
      if (!(error instanceof NexoCodecError)) throw error;
      return { reply: "unread", problem: `the answer cannot be read: ${error.message}` };
    }
  }
}

/** Returns in what a message is not the answer to a request with these ids; undefined: it is. */
function faultOf({ root, header }: NexoMessage, ids: HeaderIds, category: string) {
  const isAnswer = root === "SaleToPOIResponse" && header.MessageType === "Response";
  if (!isAnswer) return "it is no response";
  if (header.MessageCategory !== category) return "it has another category";
  if (header.ServiceID !== ids.serviceId) return "it has another ServiceID";
  if (header.SaleID !== ids.saleId) return "it has another SaleID";
  const isOurs = header.POIID?.toUpperCase() === ids.poiId.toUpperCase();
  return isOurs ? undefined : "it has another POIID";
}

/** Returns an id for a request that nobody has to ask about later: ten digits and letters. */
const newServiceId = (): string => randomBytes(ID_BYTES).toString("hex").toUpperCase();
