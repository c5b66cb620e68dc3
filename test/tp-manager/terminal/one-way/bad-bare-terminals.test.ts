import { describe, expect, test } from "vitest";
import { referenceOf } from "../../../../src/tp-manager/attempts/reference-policy.ts";
import {
  type CaisseApOptions,
  caisseApMessages,
} from "../../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { outcome, pay, request } from "../../../support/house/payment-house.ts";
import { bareHouse, bareOptions } from "./bare-house.ts";
import { type BarePeer, type Tags, tagged } from "./bare-peer.ts";

const options = bareOptions;

interface BadTerminal {
  readonly does: string;
  readonly with: (peer: BarePeer) => void;
  readonly end: string;
  /** The truth at the bank. */
  readonly charged: boolean;
  readonly sends?: number;
  readonly alarm?: string;
  readonly later?: string;
}

/** A reply with these tags changed. */
const replies = (change: Tags) => (peer: BarePeer) => {
  peer.onRequest = () => peer.say(peer.answer(change), 1_000);
};
const refuses = (af: string | undefined, more: Tags = {}) =>
  replies({ AE: "01", AF: af, CB: undefined, AA: undefined, ...more });

const endings = [
  { does: "abandons", codes: ["06", "08", "11"], end: "Cancelled", charged: false },
  { does: "refuses", codes: ["02", "03", "04", "05", undefined], end: "Declined", charged: false },
  { does: "fails", codes: ["09", "10", "12", "13"], end: "Failed", charged: false },
  {
    does: "reports no clear outcome",
    codes: ["00", "07", "01", "99", "4"],
    end: "Unknown",
    charged: true,
  },
];

const terminals: readonly BadTerminal[] = [
  { does: "approves", with: () => {}, end: "Success", charged: true },
  ...endings.flatMap(({ does, codes, end, charged }) =>
    codes.map((af) => ({ does: `${does} with ${af}`, with: refuses(af), end, charged })),
  ),
  {
    does: "refuses with the bank's own text",
    with: refuses("04148HOLDER INVALID          "),
    end: "Declined",
    charged: false,
  },
  {
    does: "reports no state and closes",
    with: replies({ AE: undefined }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "reports an unknown state",
    with: replies({ AE: "99" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "reports a state that every JavaScript object inherits",
    with: replies({ AE: "constructor", CI: "toString" }),
    end: "Unknown",
    charged: true,
  },
  { does: "approves with a reason", with: replies({ AF: "09" }), end: "Success", charged: true },
  {
    does: "approves without an echo",
    with: replies({ CA: undefined, CB: undefined, CD: undefined, CE: undefined }),
    end: "Success",
    charged: true,
  },
  {
    does: "fills the amount up with zeros, and names another version and application",
    with: replies({ CZ: "0301", CB: "000000000999", CC: "00B", ZZ: "new" }),
    end: "Success",
    charged: true,
  },
  {
    does: "approves another amount",
    with: replies({ CB: "998" }),
    end: "Unknown",
    charged: true,
    alarm: "report-mismatch",
  },
  {
    does: "approves another currency",
    with: replies({ CE: "756" }),
    end: "Unknown",
    charged: true,
    alarm: "report-mismatch",
  },
  {
    does: "answers with another register",
    with: replies({ CA: "02" }),
    end: "Success",
    charged: true,
    alarm: "report-differs",
  },
  {
    does: "answers with another action",
    with: replies({ CD: "1" }),
    end: "Unknown",
    charged: true,
    alarm: "report-mismatch",
  },
  {
    does: "reports the result of another order, and never ours",
    with: replies({ CF: referenceOf("of yesterday") }),
    end: "Unknown",
    charged: true,
    alarm: "unmatched-transaction",
  },
  {
    does: "accepts the request (AE 11) in one piece with the result",
    with: (peer) => {
      peer.onRequest = () => peer.say(peer.answer({ AE: "11" }) + peer.answer(), 1_000);
    },
    end: "Success",
    charged: true,
  },
  {
    does: "accepts the request (AE 11), and reports the result a minute later",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(peer.answer({ AE: "11" }), 1_000);
        peer.say(peer.answer(), 60_000);
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "accepts the request (AE 11), and reports no more",
    with: replies({ AE: "11" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "closes without a byte",
    with: (peer) => {
      peer.onRequest = () => peer.drop(1_000);
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "closes in the middle of a refusal",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(peer.answer({ AE: "01", AF: "04" }).slice(0, -6), 1_000);
        peer.drop(1_100);
      };
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "closes after a complete approval while the reply goes on",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(peer.answer({ ZT: "CK003100AK004abc\n" }).slice(0, -8), 1_000);
        peer.drop(1_100);
      };
    },
    end: "Success",
    charged: true,
  },
  ...[
    { how: "closes", options: {}, end: "Declined", charged: false },
    { how: "breaks", options: { cause: new Error("ECONNRESET") }, end: "Unknown", charged: true },
  ].map(({ how, options: cause, end, charged }) => ({
    does: `${how} after a refusal whose reason is missing`,
    with: (peer: BarePeer) => {
      peer.onRequest = () => {
        peer.say(peer.answer({ AE: "01", AA: undefined }), 1_000);
        peer.drop(1_100, cause);
      };
    },
    end,
    charged,
  })),
  {
    does: "closes at once after the reply",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(peer.answer(), 1_000);
        peer.drop(1_001);
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "replies byte by byte, slowly",
    with: (peer) => {
      peer.onRequest = () => {
        for (const [at, [hex]] of [...peer.answer().matchAll(/../g)].entries()) {
          peer.say(hex, 1_000 + 250 * at);
        }
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "sends one tag twice",
    with: (peer) => {
      peer.onRequest = () => peer.say(peer.answer() + tagged({ AE: "01" }), 1_000);
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "sends rubbish",
    with: (peer) => {
      peer.onRequest = () => peer.say(Buffer.from("<html>404</html>").toString("hex"), 1_000);
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "refuses the connection",
    with: (peer) => {
      peer.isAway = true;
    },
    end: "Failed",
    charged: false,
    sends: 0,
  },
  {
    does: "replies after the answer, on the connection that is still open",
    with: (peer) => {
      peer.onRequest = () => peer.say(peer.answer(), 211_000);
      peer.onPing = () => {};
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "answers an earlier question instead of the payment, and never the payment",
    with: (peer) => {
      peer.onRequest = () => peer.say(tagged({ CZ: "0301", CA: "01", CD: "I", AE: "10" }), 1_000);
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "approves an amount that is no number",
    with: replies({ CB: "12,50" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "approves an amount of thirteen digits",
    with: replies({ CB: "9999999999999" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "reports the card number instead of currency and state",
    with: replies({ CE: "4111111111111111", AE: "4111111111111111" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "approves with the card number instead of the currency",
    with: replies({ CE: "4111111111111111" }),
    end: "Unknown",
    charged: true,
  },
  {
    does: "reports the card number in groups, in an unreadable reply",
    with: (peer) => {
      const twice = tagged({ AA: "4111 1111 1111 1111" });
      peer.onRequest = () => peer.say(twice + twice, 1_000);
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "accepts the request (AE 11), with line ends before the result",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(`${peer.answer({ AE: "11" })}0d0a`, 1_000);
        peer.say(`0d0a${peer.answer()}0d0a`, 5_000);
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "accepts the request (AE 11) and approves in one piece, with line ends between",
    with: (peer) => {
      peer.onRequest = () => peer.say(`${peer.answer({ AE: "11" })}0d0a${peer.answer()}`, 1_000);
    },
    end: "Success",
    charged: true,
  },
  {
    does: "reports another state after empty lines",
    with: (peer) => {
      peer.onRequest = () => {
        peer.say(`${peer.answer({ AE: "01", AF: "04" })}0d0a0d0a${peer.answer()}`, 1_000);
      };
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "gives the card number in clear, in the receipt too",
    with: replies({
      AA: "4111111111111111",
      ZT: `CK003100AK032${Buffer.from("CARTE 4111111111111111\n").toString("base64")}`,
    }),
    end: "Success",
    charged: true,
  },
];

describe("a payment at a terminal that", () => {
  test.each(terminals.map((one) => [one.does, one] as const))("%s", async (_does, bad) => {
    const { at, peer, paid, phase, alarms } = await bareHouse();
    bad.with(peer);
    expect(await paid()).toBe(bad.end);
    expect(peer.requests.length).toBe(bad.sends ?? 1);
    await at.clock.advance(400_000);
    if (bad.later) expect(phase()).toBe(bad.later);
    // Whatever the terminal does, a charge never counts as none, nor none as a charge.
    expect(phase()).not.toBe(bad.charged ? "not-charged" : "charged");
    if (bad.alarm) expect(alarms()).toContain(bad.alarm);
    const kept = JSON.stringify(at.journal.attempts.decisive("A-1")) + at.lines.join("");
    expect(kept).not.toMatch(/4111 ?1111 ?1111 ?1111/);
    expect(at.supervisor.stored).toHaveLength(phase() === "charged" ? 1 : 0);
  });
});

describe("a request", () => {
  const sent = async (given: CaisseApOptions, end = ""): Promise<string | undefined> => {
    const { peer, paid } = await bareHouse(given, end);
    await paid();
    return peer.requests[0]?.replace(/K[0-9A-Z]{9}/, "REFERENCE.");
  };
  const head = "CZ0040300CJ012012345678901CA00201CB003999CD0010CE003978";

  test("has the fields that the settings name, in one write", async () => {
    expect(await sent(options)).toBe(`${head}CF010REFERENCE.CK003100`);
    expect(await sent({ ...options, reference: "CH", receipt: false })).toBe(
      `${head}CH010REFERENCE.`,
    );
    expect(await sent({ ...options, reference: null, receipt: false }, "\r\n")).toBe(`${head}\r\n`);
  });

  test("of less than ten cents has two digits", () => {
    const order = {
      amountMinor: 5,
      currencyNumeric: "978",
      currencyAlpha: "EUR",
    };
    const text = Buffer.from(caisseApMessages(options).request(order)).toString();
    expect(text).toContain("CB00205");
  });
});

describe("a receipt", () => {
  const ticketOf = async (change: Tags): Promise<{ ticket: string; receipt: object }> => {
    const { at, peer } = await bareHouse();
    replies(change)(peer);
    const answer = pay(at, request("A-1"));
    await at.clock.advance(5_000);
    const { body } = await answer;
    expect(outcome({ body })).toBe("Success");
    return body;
  };
  const printed = (text: string, kind = "100"): Tags => {
    const encoded = Buffer.from(text, "latin1").toString("base64").replace(/.{76}/g, "$&\n");
    return { ZT: `CK003${kind}AK${String(encoded.length + 1).padStart(3, "0")}${encoded}\n` };
  };

  test("is the terminal's own text, as the ticket", async () => {
    const lines = `CARTE BANCAIRE\nREÇU À CONSERVER\n${"-".repeat(80)}\nMONTANT 9,99 EUR\n`;
    const { ticket } = await ticketOf(printed(lines));
    expect(ticket).toBe(`CARTE BANCAIRE|REÇU À CONSERVER|${"-".repeat(80)}|MONTANT 9,99 EUR`);
  });

  test("masks a card number that is broken across two lines", async () => {
    const { ticket } = await ticketOf(printed("CARTE 49701010\n22885911\nMONTANT 9,99\n"));
    expect(ticket).toBe("CARTE 497010XX|XXXX5911|MONTANT 9,99");
  });

  test("in HTML is turned into text", async () => {
    const html =
      "<html><body><b>CARTE</b> BANCAIRE<br/>9,99&nbsp;EUR<p>Re&ccedil;u</p></body></html>";
    const { ticket } = await ticketOf(printed(html, "101"));
    expect(ticket.split("|").map((line) => line.trim())).toEqual([
      "CARTE BANCAIRE",
      "9,99 EUR",
      "Reçu",
    ]);
  });

  test("has the fields that the reply carries", async () => {
    const change = { AB: "2702", AI: "A0000000421010", CG: "1234567", CI: "2", CC: "00B" };
    const { receipt, ticket } = await ticketOf(change);
    expect(receipt).toMatchObject({
      primaryAccountNumber: "497010XXXXXX1234",
      amount: "00000999",
      currencyNumCode: "978",
      currencyAlphaCode: "EUR",
      cardAppExpiry: "270228",
      AID: "A0000000421010",
      contractNumber: "1234567",
      authorizationNumber: "441586",
      readingMode: "S",
      label: "CB",
    });
    expect(ticket).toContain("Amount: 9.99 EUR");
  });
});

describe("/check", () => {
  test.each([{ AE: "10" }, { AE: "01", AF: "10" }])(
    "does not take an answer that names no action (%o) for a sale",
    async (answer) => {
      const { at, driver, peer, alarms } = await bareHouse();
      peer.onPing = () => peer.say(tagged({ CZ: "0300", CA: "01", ...answer }), 10);
      const checked = driver.check(new AbortController().signal);
      await at.clock.advance(3_000);
      expect([(await checked).cr, alarms()]).toEqual(["0", []]);
      expect(at.journal.terminalLog.unmatched(1)).toEqual([]);
    },
  );

  test("keeps a result that comes instead of the answer as unmatched", async () => {
    const { at, driver, peer, alarms } = await bareHouse();
    peer.onPing = () => peer.say(peer.answer({ CD: undefined }), 10);
    const checked = driver.check(new AbortController().signal);
    await at.clock.advance(1_000);
    expect([(await checked).cr, alarms()]).toEqual(["0", ["unmatched-transaction"]]);
  });
});
