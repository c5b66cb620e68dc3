/*
 * Sentences that a kiosk can display to its customer. The connector's answers have none, because
 * each kiosk has its own style. A sentence claims no more about the money than its member
 * `charged`.
 */

export const customerLanguages = ["en", "fr", "de"] as const;
export type CustomerLanguage = (typeof customerLanguages)[number];

type Sentences = Readonly<Record<CustomerLanguage, string>>;

interface Message extends Sentences {
  /** Whether the sentence says that the order was charged. */
  readonly charged: "no" | "yes" | "unknown";
}

const notCharged = {
  en: "You have not been charged.",
  fr: "Vous n’avez pas été débité.",
  de: "Ihnen wurde nichts berechnet.",
};

/** Returns a sentence in three languages, each followed by "nothing was charged". */
function free(en: string, fr: string, de: string): Message {
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
  // Shown while payments are refused because an earlier payment has to be probed or settled.
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
} as const satisfies Record<string, Message>;

export type CustomerMessageName = keyof typeof customerMessages;

/** The name of the sentence for each error code without a charge; `unavailable` for other codes. */
export const customerMessageOfCode: Readonly<Record<string, CustomerMessageName>> = {
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

/** The name of the sentence for each status of an outcome without an error. */
export const customerMessageOfStatus: Readonly<Record<string, CustomerMessageName>> = {
  Success: "paid",
  Approved: "collect",
  Reversed: "returned",
  Declined: "declined",
  Cancelled: "cancelled",
  Unknown: "unknown",
};

interface DecidingParts {
  readonly status: string;
  readonly error: { readonly code: string; readonly charged: "no" | "yes" | "unknown" } | null;
}

/**
 * Returns the name of the sentence for an answer. The error's member `charged` has precedence over
 * the error's code, because a newer connector can send a code that is missing here.
 */
export function customerMessageName({ status, error }: DecidingParts): CustomerMessageName {
  if (error === null) {
    return customerMessageOfStatus[status] ?? "unknown";
  }
  if (error.charged === "unknown") return "unknown";
  if (error.charged === "yes") return "charged-ask";
  return customerMessageOfCode[error.code] ?? "unavailable";
}

/** Returns the customer's sentence for an answer of `POST /payment` or `GET /payment/{orderId}`. */
export function customerMessage(outcome: DecidingParts, language: CustomerLanguage = "en"): string {
  return customerMessages[customerMessageName(outcome)][language];
}
