import type { DiskRecord } from "./disk-record.ts";
import type { Stores } from "./stores-image.ts";

/** An answer or ACK that a power cut afterwards may not make untrue. */
interface Assurance {
  readonly sentence: string;
  readonly what: string;
  readonly kept: (stores: Stores) => boolean;
}

/** The amount in a command on the wire: within one session it distinguishes the orders. */
const AMOUNT = /^0601.{2}04(\d{12})|^0630.{8}87.{4}04(\d{12})/;
const REPORTS = ["report", "approved", "reversal-report"];
const phasesOf: Readonly<Record<string, readonly string[]>> = {
  Success: ["charged", "reversing", "reversal-in-doubt", "reversed"],
  Reversed: ["reversed", "charged"],
  Declined: ["not-charged"],
  Cancelled: ["not-charged"],
  Failed: ["not-charged"],
};

/** Reads from what was sent and received what has been promised so far. */
export class PromiseBook {
  readonly promises: Assurance[] = [];
  #amountMinor = 0;
  #reported = false;
  /** A command that moves money has left, and its end has not come. */
  #isRunning = false;

  read({ what, data }: DiskRecord): void {
    if (what === "receive") this.#heard(data.toString("hex", 0, 2));
    if (what !== "send") return;
    this.#toTerminal(data.toString("hex", 0, 64));
    const text = data.toString("latin1");
    if (text.startsWith("HTTP/1.1 ")) this.#toKiosk(text);
    else this.#toGateway(text);
  }

  #heard(control: string): void {
    // Totals come as 04 0F too, and are nobody's sale.
    if (control === "040f" && this.#isRunning) this.#reported = true;
    if (control === "060f" || control === "061e") this.#isRunning = false;
  }

  #toTerminal(hex: string): void {
    const [, sale, reversal] = AMOUNT.exec(hex) ?? [];
    const amount = sale ?? reversal;
    if (amount !== undefined) {
      const amountMinor = Number(amount);
      this.#amountMinor = amountMinor;
      this.#isRunning = true;
      const phases = sale === undefined ? ["reversing", "reversed", "charged"] : null;
      this.#promise("write-ahead: no command leaves before its record", amount, (stores) =>
        stores.attempts.some(
          (one) =>
            one.amountMinor === amountMinor &&
            (phases?.includes(one.phase) ?? true) &&
            (phases === null || one.kinds.includes("reversal-begins")),
        ),
      );
    }
    if (hex.startsWith("800000") && this.#reported) {
      this.#reported = false;
      const amountMinor = this.#amountMinor;
      this.#promise("evidence: no report gets its ACK before it is stored", hex, (stores) =>
        stores.attempts.some(
          (one) =>
            one.amountMinor === amountMinor && one.kinds.some((kind) => REPORTS.includes(kind)),
        ),
      );
    }
  }

  /** Answers of the local API; those of the socket between the programs name no order's status. */
  #toKiosk(text: string): void {
    const body = text.slice(text.indexOf("\r\n\r\n") + 4);
    const status = /^\[\{"status":"(\w+)"/.exec(body)?.[1];
    const orderId = /"orderId":"([^"]+)"/.exec(body)?.[1];
    if (status === undefined || orderId === undefined) return;
    const isOf = (stores: Stores) => stores.attempts.filter((one) => one.orderId === orderId);
    this.#promise("what the kiosk was answered stays true", `${orderId} ${status}`, (stores) =>
      isOf(stores).some(({ kinds, phase, acknowledged: accepted }) => {
        if (status === "Approved") return kinds.includes("approved");
        const charged = status === "Success" ? accepted !== null : true;
        return charged && (phasesOf[status] ?? []).includes(phase);
      }),
    );
  }

  #toGateway(text: string): void {
    const id = /<transactionPublicId[^>]*>(\w+)</.exec(text)?.[1];
    if (id !== undefined) {
      this.#promise("an operation of the gateway is on disk before it is sent", id, (stores) =>
        stores.operated.has(id),
      );
    }
    const order = /<merchantReference[^>]*>([^<]+)</.exec(text)?.[1];
    if (order !== undefined) {
      this.#promise("only stored orders reach the gateway", order, (stores) =>
        stores.handedOff.has(order),
      );
    }
  }

  #promise(sentence: string, what: string, kept: (stores: Stores) => boolean): void {
    this.promises.push({ sentence, what, kept });
  }
}

/** What is wrong with the stores by themselves, whatever was promised. */
export function contradictions({ attempts, handedOff, damage }: Stores): string[] {
  const lost = attempts.filter(({ phase, acknowledged: accepted, orderId }) => {
    if (phase === "charged" && accepted === null) return true;
    return accepted === true && !handedOff.has(orderId);
  });
  return [
    ...damage.map((breach) => `a power cut damages no database: ${breach}`),
    ...lost.map(({ orderId }) => `a charged order is handed off until it is stored: ${orderId}`),
  ];
}
