/**
 * Message ids, tag 1F73 (docs/zvt.md 9.4). A registration asks for ids; they are agreed when its
 * completion has the tag too, and end with the next registration, Log-Off or connection. Both sides
 * share one count: a new message gets the next number, an answer or repeat that of its message.
 */
import {
  type Apdu,
  decodeMessage,
  type Message,
  tag,
  tagValue,
  withTag,
} from "../../../../zvt/index.ts";

const ID_MAX = 999_999;
/** How many of our ids are kept: more than the messages to which an answer can still come. */
const OWN_IDS_KEPT = 32;
export const REGISTRATION = 0x0600;
const LOG_OFF = 0x0602;
const ABORT = 0x06b0;

interface Numbered {
  readonly id: string;
  readonly bytes: string;
  answer: Apdu | null;
}

export class MessageIds {
  #asked = false;
  #agreed = false;
  #last = 0;
  #own: string[] = [];
  #heard: Numbered | undefined;
  /** Whether different messages had the same id, so that ids show no repeats. */
  #useless = false;

  /** Returns the id in a message; null when the message has none, or no ids are agreed. */
  of({ tags }: Message): string | null {
    const id = this.#agreed ? tagValue(tags, "messageSequence") : undefined;
    return id !== undefined && /^\d{6}$/.test(id) ? id : null;
  }

  /** Returns a command or an abort with the next id. */
  numbered(apdu: Apdu): Apdu {
    if (apdu.control === REGISTRATION) {
      this.#end();
      this.#asked = tagValue(decodeMessage(apdu).tags, "messageSequence") !== undefined;
    }
    if (!this.#agreed) return apdu;
    // After a new command no message is a repeat, even if the terminal counts from 1 again.
    if (apdu.control !== ABORT) this.#heard = undefined;
    this.#last = this.#last >= ID_MAX ? 1 : this.#last + 1;
    const id = String(this.#last).padStart(6, "0");
    this.#own = [...this.#own, id].slice(-OWN_IDS_KEPT);
    if (apdu.control === LOG_OFF) this.#end();
    return withTag(apdu, tag("messageSequence", id));
  }

  /** Returns an answer with the id of the message that is answered. */
  answering(apdu: Apdu, id: string | null): Apdu {
    if (!this.#agreed || id === null) return apdu;
    const answer = withTag(apdu, tag("messageSequence", id));
    if (this.#heard?.id === id) this.#heard.answer = answer;
    return answer;
  }

  /** Learns from the completion of a registration whether ids are agreed. */
  registered({ tags }: Message): void {
    this.#agreed = this.#asked && tagValue(tags, "messageSequence") !== undefined;
    this.#asked = false;
  }

  /**
   * Returns whether an answer belongs to a message of ours before the last one. An id that we never
   * used is not late, because some terminals count differently.
   */
  isLate(id: string): boolean {
    return this.#own.slice(0, -1).includes(id) && id !== this.#own.at(-1);
  }

  /** Returns our answer to a message that came before with the same id; null for a new message. */
  repeated(id: string, bytes: string): { readonly answer: Apdu | null } | null {
    const heard = this.#useless ? undefined : this.#heard;
    return heard && heard.id === id && heard.bytes === bytes ? heard : null;
  }

  heard(id: string, bytes: string): void {
    if (this.#heard?.id === id && this.#heard.bytes !== bytes) this.#useless = true;
    this.#heard = { id, bytes, answer: null };
    const number = Number(id);
    const ahead = (number - this.#last + ID_MAX) % ID_MAX;
    if (ahead < ID_MAX / 2) this.#last = number;
  }

  #end(): void {
    this.#agreed = false;
    this.#last = 0;
    this.#own = [];
    this.#heard = undefined;
    this.#useless = false;
  }
}
