/*
 * The words for the person in front of the kiosk. The connector's answers do not carry them: a
 * kiosk has words of its own, and these are a beginning. They say of the money only what `charged`
 * says.
 * A copy of the connector's src/client/customer-messages.ts and .json: a kiosk serves the files of
 * one folder and nothing else, and this one is to be copied and changed. A test keeps them alike.
 */

/** @typedef {"en" | "fr" | "de" | "it" | "es"} CustomerLanguage */

/** @type {readonly CustomerLanguage[]} */
export const customerLanguages = ["en", "fr", "de", "it", "es"];

export const customerMessages = {
  paid: {
    charged: "yes",
    en: "Thank you. Your payment is complete.",
    fr: "Merci. Votre paiement est effectué.",
    de: "Vielen Dank. Ihre Zahlung ist abgeschlossen.",
    it: "Grazie. Il Suo pagamento è completato.",
    es: "Gracias. Su pago se ha completado.",
  },
  collect: {
    charged: "unknown",
    en: "Your payment is approved. Please wait for your goods.",
    fr: "Votre paiement est accepté. Veuillez attendre vos articles.",
    de: "Ihre Zahlung ist genehmigt. Bitte warten Sie auf Ihre Ware.",
    it: "Il Suo pagamento è approvato. Attenda i Suoi articoli, per favore.",
    es: "Su pago está aprobado. Espere sus artículos, por favor.",
  },
  returned: {
    charged: "no",
    en: "Your payment has been returned to your card.",
    fr: "Votre paiement a été remboursé sur votre carte.",
    de: "Ihre Zahlung wurde auf Ihre Karte zurückgebucht.",
    it: "Il Suo pagamento è stato restituito sulla Sua carta.",
    es: "Su pago se ha devuelto a su tarjeta.",
  },
  "charged-ask": {
    charged: "yes",
    en: "This order is paid: your card was charged once. Please ask the staff for help.",
    fr:
      "Cette commande est payée : votre carte a été débitée une fois. Demandez de l’aide au " +
      "personnel.",
    de:
      "Diese Bestellung ist bezahlt: Ihre Karte wurde einmal belastet. Bitte fragen Sie das " +
      "Personal.",
    it:
      "Questo ordine è pagato: sulla Sua carta l’importo è stato addebitato una volta. Chieda " +
      "aiuto al personale.",
    es:
      "Este pedido está pagado: el importe se ha cobrado una vez en su tarjeta. Pida ayuda al " +
      "personal.",
  },
  unknown: {
    charged: "unknown",
    en:
      "It is not known yet whether your card was charged. Please do not pay again; ask the " +
      "staff.",
    fr:
      "On ne sait pas encore si votre carte a été débitée. Ne payez pas de nouveau ; demandez au " +
      "personnel.",
    de:
      "Noch ist nicht bekannt, ob Ihre Karte belastet wurde. Bitte zahlen Sie nicht noch einmal; " +
      "fragen Sie das Personal.",
    it:
      "Non si sa ancora se sulla Sua carta è stato addebitato l’importo. Per favore non paghi di " +
      "nuovo; si rivolga al personale.",
    es:
      "Todavía no se sabe si se ha cobrado en su tarjeta. Por favor, no pague de nuevo; consulte " +
      "al personal.",
  },
  declined: {
    charged: "no",
    en: "Your card was refused. Please try another card. You have not been charged.",
    fr: "Votre carte a été refusée. Essayez une autre carte. Vous n’avez pas été débité.",
    de:
      "Ihre Karte wurde abgelehnt. Bitte versuchen Sie eine andere Karte. Ihnen wurde nichts " +
      "berechnet.",
    it:
      "La Sua carta è stata rifiutata. Provi con un’altra carta, per favore. Non Le è stato " +
      "addebitato nulla.",
    es:
      "Su tarjeta ha sido rechazada. Pruebe con otra tarjeta, por favor. No se le ha cobrado " +
      "nada.",
  },
  cancelled: {
    charged: "no",
    en: "The payment was cancelled. You have not been charged.",
    fr: "Le paiement a été annulé. Vous n’avez pas été débité.",
    de: "Die Zahlung wurde abgebrochen. Ihnen wurde nichts berechnet.",
    it: "Il pagamento è stato annullato. Non Le è stato addebitato nulla.",
    es: "El pago se ha cancelado. No se le ha cobrado nada.",
  },
  "too-slow": {
    charged: "no",
    en: "No card was presented in time. You have not been charged.",
    fr: "Aucune carte n’a été présentée à temps. Vous n’avez pas été débité.",
    de: "Es wurde nicht rechtzeitig eine Karte vorgelegt. Ihnen wurde nichts berechnet.",
    it: "Non è stata presentata alcuna carta in tempo. Non Le è stato addebitato nulla.",
    es: "No se ha presentado ninguna tarjeta a tiempo. No se le ha cobrado nada.",
  },
  "no-goods": {
    charged: "no",
    en: "Your goods could not be handed out. You have not been charged.",
    fr: "Vos articles n’ont pas pu être remis. Vous n’avez pas été débité.",
    de: "Ihre Ware konnte nicht ausgegeben werden. Ihnen wurde nichts berechnet.",
    it: "Non è stato possibile consegnare i Suoi articoli. Non Le è stato addebitato nulla.",
    es: "No se han podido entregar sus artículos. No se le ha cobrado nada.",
  },
  unconfirmed: {
    charged: "no",
    en:
      "It was not confirmed in time that your goods came out. Please ask the staff. You have not " +
      "been charged.",
    fr:
      "La remise de vos articles n’a pas été confirmée à temps. Demandez au personnel. Vous " +
      "n’avez pas été débité.",
    de:
      "Die Ausgabe Ihrer Ware wurde nicht rechtzeitig bestätigt. Bitte fragen Sie das Personal. " +
      "Ihnen wurde nichts berechnet.",
    it:
      "Non è stato confermato in tempo che i Suoi articoli sono usciti. Si rivolga al personale. " +
      "Non Le è stato addebitato nulla.",
    es:
      "No se ha confirmado a tiempo que sus artículos hayan salido. Consulte al personal. No se " +
      "le ha cobrado nada.",
  },
  "try-again": {
    charged: "no",
    en: "The payment was not carried out. Please try again. You have not been charged.",
    fr: "Le paiement n’a pas été effectué. Veuillez réessayer. Vous n’avez pas été débité.",
    de:
      "Die Zahlung wurde nicht ausgeführt. Bitte versuchen Sie es noch einmal. Ihnen wurde " +
      "nichts berechnet.",
    it: "Il pagamento non è stato eseguito. Riprovi, per favore. Non Le è stato addebitato nulla.",
    es: "El pago no se ha realizado. Inténtelo de nuevo, por favor. No se le ha cobrado nada.",
  },
  moment: {
    charged: "no",
    en: "Please wait a moment, then try again. You have not been charged.",
    fr: "Veuillez patienter un instant, puis réessayer. Vous n’avez pas été débité.",
    de:
      "Bitte warten Sie einen Moment und versuchen Sie es dann noch einmal. Ihnen wurde nichts " +
      "berechnet.",
    it: "Attenda un momento, per favore, poi riprovi. Non Le è stato addebitato nulla.",
    es: "Espere un momento, por favor, y después inténtelo de nuevo. No se le ha cobrado nada.",
  },
  // Lasts until the terminal has been asked, or an operator has settled an order: no "moment".
  "ask-staff": {
    charged: "no",
    en:
      "Card payment is not possible until an earlier payment is cleared up. Please ask the " +
      "staff, or try again in a few minutes. You have not been charged.",
    fr:
      "Le paiement par carte est impossible tant qu’un paiement précédent n’est pas éclairci. " +
      "Demandez au personnel ou réessayez dans quelques minutes. Vous n’avez pas été débité.",
    de:
      "Kartenzahlung ist erst möglich, wenn eine frühere Zahlung geklärt ist. Bitte fragen Sie " +
      "das Personal, oder versuchen Sie es in einigen Minuten noch einmal. Ihnen wurde nichts " +
      "berechnet.",
    it:
      "Il pagamento con carta non è possibile finché non è chiarito un pagamento precedente. Si " +
      "rivolga al personale o riprovi tra qualche minuto. Non Le è stato addebitato nulla.",
    es:
      "El pago con tarjeta no es posible hasta que se aclare un pago anterior. Consulte al " +
      "personal o inténtelo de nuevo dentro de unos minutos. No se le ha cobrado nada.",
  },
  unavailable: {
    charged: "no",
    en: "Card payment is not possible here at the moment. You have not been charged.",
    fr: "Le paiement par carte n’est pas possible ici pour le moment. Vous n’avez pas été débité.",
    de: "Kartenzahlung ist hier zurzeit nicht möglich. Ihnen wurde nichts berechnet.",
    it: "Al momento qui non è possibile pagare con carta. Non Le è stato addebitato nulla.",
    es: "En este momento no es posible pagar aquí con tarjeta. No se le ha cobrado nada.",
  },
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
  DELIVERY_UNCONFIRMED: "unconfirmed",
  DELIVERY_DECIDED: "unconfirmed",
  SETTLED_NOT_CHARGED: "try-again",
  SALE_TAKEN_BACK: "try-again",
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
