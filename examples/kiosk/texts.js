/* The kiosk's own words. What an outcome means for the customer stands in customer-messages.js. */

/** @typedef {Readonly<Record<import("./customer-messages.js").CustomerLanguage, string>>} Text */

export const texts = /** @satisfies {Record<string, Text>} */ ({
  title: { en: "Ticket machine", fr: "Billetterie", de: "Fahrkarten" },
  choose: {
    en: "Where would you like to go?",
    fr: "Où souhaitez-vous aller ?",
    de: "Wohin möchten Sie fahren?",
  },
  "old-town": { en: "Old town", fr: "Vieille ville", de: "Altstadt" },
  airport: { en: "Airport", fr: "Aéroport", de: "Flughafen" },
  day: { en: "Day ticket", fr: "Billet à la journée", de: "Tageskarte" },
  moment: {
    en: "One moment, please.",
    fr: "Un instant, s’il vous plaît.",
    de: "Einen Moment, bitte.",
  },
  printing: {
    en: "Your ticket is being printed.",
    fr: "Votre billet est en cours d’impression.",
    de: "Ihre Fahrkarte wird gedruckt.",
  },
  starting: {
    en: "One moment, please: the payment system starts again.",
    fr: "Un instant, s’il vous plaît : le système de paiement redémarre.",
    de: "Einen Moment, bitte: Das Zahlungssystem startet neu.",
  },
  lost: {
    en: "Please wait: this screen is being started again.",
    fr: "Veuillez patienter : cet écran redémarre.",
    de: "Bitte warten: Dieser Bildschirm wird neu gestartet.",
  },
  order: { en: "Order", fr: "Commande", de: "Bestellung" },
  cancel: { en: "Cancel", fr: "Annuler", de: "Abbrechen" },
  again: { en: "Try again", fr: "Réessayer", de: "Noch einmal versuchen" },
  ok: { en: "OK", fr: "OK", de: "OK" },
});

const CHOSEN = "language";
/** @type {{language: import("./customer-messages.js").CustomerLanguage}} what is spoken now */
export const spoken = { language: /** @type {any} */ (sessionStorage.getItem(CHOSEN)) ?? "en" };

/**
 * @param {keyof typeof texts} name of an order that an older page kept it may be another word
 * @returns {string}
 */
export const say = (name) => texts[name]?.[spoken.language] ?? name;

/** @param {number} amount */
export const money = (amount) =>
  `${amount.toFixed(2).replace(".", spoken.language === "en" ? "." : ",")} EUR`;

/**
 * The words and prices that stand on the page, in another language; a reload keeps it.
 * @param {typeof spoken.language} language
 */
export function speak(language) {
  spoken.language = language;
  sessionStorage.setItem(CHOSEN, language);
  document.documentElement.lang = language;
  document.title = say("title");
  /** @type {NodeListOf<any>} */
  const worded = document.querySelectorAll("[data-text], [data-amount], #languages button");
  for (const element of worded) {
    const { text, amount } = element.dataset;
    if (text) element.textContent = say(text);
    else if (amount) element.textContent = money(Number(amount));
    else element.setAttribute("aria-pressed", String(element.lang === language));
  }
}
