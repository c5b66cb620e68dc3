/*
 * The words for the person in front of the kiosk. The connector's answers do not carry them: a
 * kiosk has words of its own, and these are a beginning. They say of the money only what `charged`
 * says.
 * A copy of the connector's src/client/customer-messages.ts: a kiosk serves the files of one folder
 * and nothing else, and this one is to be copied and changed. A test keeps the two alike.
 */

/** @typedef {"en" | "fr" | "de"} CustomerLanguage */

/** @type {readonly CustomerLanguage[]} */
export const customerLanguages = ["en", "fr", "de"];

const notCharged = {
  en: "You have not been charged.",
  fr: "Vous n’avez pas été débité.",
  de: "Ihnen wurde nichts berechnet.",
};

/**
 * A sentence of one thing, and that nothing was charged.
 * @param {string} en
 * @param {string} fr
 * @param {string} de
 */
function free(en, fr, de) {
  return {
    charged: "no",
    en: `${en} ${notCharged.en}`,
    fr: `${fr} ${notCharged.fr}`,
    de: `${de} ${notCharged.de}`,
  };
}

export const customerMessages = {
  paid: {
    charged: "yes",
    en: "Thank you. Your payment is complete.",
    fr: "Merci. Votre paiement est effectué.",
    de: "Vielen Dank. Ihre Zahlung ist abgeschlossen.",
  },
  collect: {
    charged: "unknown",
    en: "Your payment is approved. Please wait for your goods.",
    fr: "Votre paiement est accepté. Veuillez attendre vos articles.",
    de: "Ihre Zahlung ist genehmigt. Bitte warten Sie auf Ihre Ware.",
  },
  returned: {
    charged: "no",
    en: "Your payment has been returned to your card.",
    fr: "Votre paiement a été remboursé sur votre carte.",
    de: "Ihre Zahlung wurde auf Ihre Karte zurückgebucht.",
  },
  "charged-ask": {
    charged: "yes",
    en: "This order is paid: your card was charged once. Please ask the staff for help.",
    fr:
      "Cette commande est payée : votre carte a été débitée une fois. Demandez de l’aide " +
      "au personnel.",
    de:
      "Diese Bestellung ist bezahlt: Ihre Karte wurde einmal belastet. Bitte fragen Sie " +
      "das Personal.",
  },
  unknown: {
    charged: "unknown",
    en:
      "It is not known yet whether your card was charged. Please do not pay again; ask the " +
      "staff.",
    fr:
      "On ne sait pas encore si votre carte a été débitée. Ne payez pas de nouveau ; " +
      "demandez au personnel.",
    de:
      "Noch ist nicht bekannt, ob Ihre Karte belastet wurde. Bitte zahlen Sie nicht noch " +
      "einmal; fragen Sie das Personal.",
  },
  declined: free(
    "Your card was refused. Please try another card.",
    "Votre carte a été refusée. Essayez une autre carte.",
    "Ihre Karte wurde abgelehnt. Bitte versuchen Sie eine andere Karte.",
  ),
  cancelled: free(
    "The payment was cancelled.",
    "Le paiement a été annulé.",
    "Die Zahlung wurde abgebrochen.",
  ),
  "too-slow": free(
    "No card was presented in time.",
    "Aucune carte n’a été présentée à temps.",
    "Es wurde nicht rechtzeitig eine Karte vorgelegt.",
  ),
  "no-goods": free(
    "Your goods could not be handed out.",
    "Vos articles n’ont pas pu être remis.",
    "Ihre Ware konnte nicht ausgegeben werden.",
  ),
  "try-again": free(
    "The payment was not carried out. Please try again.",
    "Le paiement n’a pas été effectué. Veuillez réessayer.",
    "Die Zahlung wurde nicht ausgeführt. Bitte versuchen Sie es noch einmal.",
  ),
  moment: free(
    "Please wait a moment, then try again.",
    "Veuillez patienter un instant, puis réessayer.",
    "Bitte warten Sie einen Moment und versuchen Sie es dann noch einmal.",
  ),
  // Lasts until the terminal has been asked, or an operator has settled an order: no "moment".
  "ask-staff": free(
    "Card payment is not possible until an earlier payment is cleared up. Please ask the staff, " +
      "or try again in a few minutes.",
    "Le paiement par carte est impossible tant qu’un paiement précédent n’est pas éclairci. " +
      "Demandez au personnel ou réessayez dans quelques minutes.",
    "Kartenzahlung ist erst möglich, wenn eine frühere Zahlung geklärt ist. Bitte fragen Sie das " +
      "Personal, oder versuchen Sie es in einigen Minuten noch einmal.",
  ),
  unavailable: free(
    "Card payment is not possible here at the moment.",
    "Le paiement par carte n’est pas possible ici pour le moment.",
    "Kartenzahlung ist hier zurzeit nicht möglich.",
  ),
};

/** @typedef {keyof typeof customerMessages} CustomerMessageName */

/**
 * Codes that have a sentence of their own while their order is not charged.
 * @type {Readonly<Record<string, CustomerMessageName>>}
 */
export const customerMessageOfCode = {
  PAYMENT_DECLINED: "declined",
  PAYMENT_CANCELLED: "cancelled",
  CUSTOMER_TIMEOUT: "too-slow",
  GOODS_NOT_DELIVERED: "no-goods",
  SETTLED_NOT_CHARGED: "try-again",
  TERMINAL_FAULT: "try-again",
  TERMINAL_BUSY: "moment",
  TERMINAL_IN_DOUBT: "ask-staff",
  STOPPING: "moment",
  UPDATING: "moment",
  ORDER_REVERSED: "returned",
};

/**
 * Outcomes that come without an error, or whose sentence does not depend on the error.
 * @type {Readonly<Record<string, CustomerMessageName>>}
 */
export const customerMessageOfStatus = {
  Success: "paid",
  Approved: "collect",
  Reversed: "returned",
  Declined: "declined",
  Cancelled: "cancelled",
  Unknown: "unknown",
};

/**
 * The parts of an answer that decide.
 * @typedef {object} Outcome
 * @property {string} status
 * @property {{code?: string, charged?: string} | null} error
 */

/**
 * The name of the sentence for an answer. The member `charged` decides first, and alone where the
 * code is not known here, because a newer connector has added it.
 * @param {Outcome} outcome
 * @returns {CustomerMessageName}
 */
export function customerMessageName({ status, error }) {
  if (error === null) {
    return customerMessageOfStatus[status] ?? "unknown";
  }
  if (error.charged === "unknown") return "unknown";
  if (error.charged === "yes") return "charged-ask";
  return customerMessageOfCode[error.code ?? ""] ?? "unavailable";
}

/**
 * The sentence for the customer at an answer of `POST /payment` or `GET /payment/{orderId}`.
 * @param {Outcome} outcome
 * @param {CustomerLanguage} language
 */
export function customerMessage(outcome, language = "en") {
  return customerMessages[customerMessageName(outcome)][language];
}
