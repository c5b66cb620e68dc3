import type { Message } from "../index.ts";

/** Languages of the texts for codes. */
export type Language = "en" | "fr" | "de";

export type Texts = Readonly<Record<Language, string>>;

/** The meaning of a code to the customer. */
type CodeReason =
  | "declined"
  | "cancelled"
  | "terminal-fault"
  | "wrong-currency"
  | "already-reversed";

type Row = readonly [code: number, reason: CodeReason, en: string, fr: string, de: string];

/** Result and error codes of docs/zvt.md 11.4: field 27, 06 1E and 84 xx. */
const rows: readonly Row[] = [
  [0x00, "declined", "approved", "accepté", "erfolgt"],
  [0x37, "declined", "PIN wrong", "code faux", "PIN falsch"],
  [0x64, "declined", "card unreadable", "carte illisible", "Karte nicht lesbar"],
  [0x65, "declined", "no card data", "pas de données de carte", "keine Kartendaten"],
  [0x66, "terminal-fault", "processing error", "erreur de traitement", "Verarbeitungsfehler"],
  [0x67, "declined", "not for girocard", "pas avec girocard", "nicht für girocard"],
  [0x68, "declined", "not for credit cards", "pas avec crédit", "nicht für Kreditkarten"],
  [0x6a, "terminal-fault", "turnover file full", "fichier plein", "Umsatzdatei voll"],
  [0x6b, "terminal-fault", "not registered", "non enregistré", "Kasse nicht angemeldet"],
  [0x6c, "cancelled", "aborted", "interrompu", "abgebrochen"],
  [0x6e, "declined", "card blocked", "carte bloquée", "Karte gesperrt"],
  [0x6f, "wrong-currency", "wrong currency", "mauvaise devise", "falsche Währung"],
  [0x71, "declined", "credit too low", "solde insuffisant", "Guthaben zu niedrig"],
  [0x72, "declined", "chip error", "erreur de puce", "Chipfehler"],
  [0x73, "declined", "card data wrong", "données de carte fausses", "Kartendaten falsch"],
  [0x74, "terminal-fault", "key engine used up", "clés épuisées", "Schlüssel aufgebraucht"],
  [0x75, "terminal-fault", "text not authentic", "texte non authentique", "Text nicht echt"],
  [0x76, "declined", "card not on white list", "carte hors liste", "Karte nicht freigegeben"],
  [0x77, "terminal-fault", "no end of day", "clôture impossible", "Kassenschnitt unmöglich"],
  [0x78, "declined", "card expired", "carte expirée", "Karte abgelaufen"],
  [0x79, "declined", "card not yet valid", "carte pas encore valable", "Karte noch nicht gültig"],
  [0x7a, "declined", "card unknown", "carte inconnue", "Karte unbekannt"],
  [0x7b, "declined", "no stripe instead", "piste refusée", "kein Magnetstreifen"],
  [0x7c, "declined", "no stripe instead", "piste refusée", "kein Magnetstreifen"],
  [0x7d, "terminal-fault", "communication error", "erreur de liaison", "Kommunikationsfehler"],
  [0x7e, "declined", "no stripe instead", "piste refusée", "kein Magnetstreifen"],
  [0x83, "terminal-fault", "function unknown", "fonction inconnue", "Funktion unbekannt"],
  [0x85, "terminal-fault", "key missing", "clé absente", "Schlüssel fehlt"],
  [0x89, "terminal-fault", "PIN pad defective", "clavier défectueux", "PIN-Pad defekt"],
  [0x9a, "terminal-fault", "protocol error", "erreur de protocole", "Protokollfehler"],
  [0x9b, "terminal-fault", "dial-up error", "erreur de connexion", "Wählfehler"],
  [0x9c, "terminal-fault", "please wait", "patientez", "bitte warten"],
  [0x9d, "terminal-fault", "partial issue", "livraison partielle", "Teilausgabe"],
  [0xa0, "terminal-fault", "recipient not ready", "destinataire non prêt", "nicht bereit"],
  [0xa1, "terminal-fault", "no answer", "pas de réponse", "keine Antwort"],
  [0xa3, "terminal-fault", "no connection", "pas de connexion", "keine Verbindung"],
  [0xa4, "declined", "Geldkarte refused", "Geldkarte refusée", "Geldkarte nicht möglich"],
  [0xa5, "terminal-fault", "forbidden by PCI", "interdit par PCI", "wegen PCI verboten"],
  [0xb1, "terminal-fault", "memory full", "mémoire pleine", "Speicher voll"],
  [0xb2, "terminal-fault", "journal full", "journal plein", "Journal voll"],
  [0xb4, "already-reversed", "already reversed", "déjà annulé", "bereits storniert"],
  [0xb5, "declined", "reversal impossible", "annulation impossible", "Storno unmöglich"],
  [
    0xb7,
    "declined",
    "wrong pre-authorisation",
    "préautorisation fausse",
    "Vorautorisierung falsch",
  ],
  [
    0xb8,
    "terminal-fault",
    "pre-authorisations open",
    "préautorisations",
    "Vorautorisierungen offen",
  ],
  [0xbf, "terminal-fault", "supply too low", "alimentation faible", "Versorgung zu schwach"],
  [0xc0, "terminal-fault", "card lock defective", "verrou défectueux", "Kartensperre defekt"],
  [0xc1, "terminal-fault", "merchant card locked", "carte marchand", "Händlerkarte gesperrt"],
  [0xc2, "terminal-fault", "diagnosis needed", "diagnostic requis", "Diagnose nötig"],
  [0xc3, "declined", "amount too high", "montant trop élevé", "Betrag zu hoch"],
  [0xc4, "terminal-fault", "card profile missing", "profil absent", "Kartenprofil fehlt"],
  [0xc5, "declined", "way of paying refused", "mode de paiement refusé", "Zahlart nicht möglich"],
  [0xc6, "wrong-currency", "currency refused", "devise refusée", "Währung nicht möglich"],
  [0xc8, "declined", "amount too small", "montant trop faible", "Betrag zu klein"],
  [0xc9, "declined", "amount too small", "montant trop faible", "Betrag zu klein"],
  [0xcb, "wrong-currency", "euro only", "euro seulement", "nur Euro"],
  [0xcc, "terminal-fault", "printer not ready", "imprimante non prête", "Drucker nicht bereit"],
  [0xcd, "declined", "no cash with purchase", "pas d'avance", "keine Barauszahlung"],
  [0xd2, "declined", "not for bank cards", "pas pour cartes bancaires", "nicht für Bankkarten"],
  [0xdc, "terminal-fault", "card inserted", "carte insérée", "Karte steckt"],
  [0xdd, "terminal-fault", "card not ejected", "éjection impossible", "Auswurf gestört"],
  [0xde, "terminal-fault", "card not taken in", "insertion impossible", "Einzug gestört"],
  [0xdf, "terminal-fault", "out of order", "hors service", "außer Betrieb"],
  [0xe0, "terminal-fault", "remote maintenance", "télémaintenance", "Fernwartung"],
  [0xe1, "terminal-fault", "card not removed", "carte non retirée", "Karte nicht entnommen"],
  [0xe2, "terminal-fault", "card reader defective", "lecteur défectueux", "Kartenleser defekt"],
  [0xe3, "terminal-fault", "shutter not closed", "volet ouvert", "Shutter nicht geschlossen"],
  [0xe4, "terminal-fault", "activation needed", "activation requise", "Aktivierung nötig"],
  [0xe7, "declined", "goods not found", "article inconnu", "Ware nicht gefunden"],
  [0xe8, "declined", "goods restricted", "article restreint", "Ware gesperrt"],
  [0xe9, "declined", "card restricted", "carte restreinte", "Karte beschränkt"],
  [0xea, "declined", "card code refused", "code de carte refusé", "Kartencode abgelehnt"],
  [0xeb, "declined", "PIN wrong", "code faux", "PIN falsch"],
  [0xec, "declined", "PIN wrong", "code faux", "PIN falsch"],
  [0xed, "terminal-fault", "PIN pad defective", "clavier défectueux", "PIN-Pad defekt"],
  [0xf0, "terminal-fault", "end of day required", "clôture requise", "Kassenschnitt nötig"],
  [0xf1, "terminal-fault", "offline error", "erreur hors ligne", "Offline-Fehler"],
  [0xf5, "terminal-fault", "OPT error", "erreur OPT", "OPT-Fehler"],
  [0xf6, "terminal-fault", "OPT data missing", "données OPT absentes", "OPT-Daten fehlen"],
  [0xfa, "terminal-fault", "clearing error", "erreur de compensation", "Clearing-Fehler"],
  [0xfb, "terminal-fault", "data set defective", "données défectueuses", "Datensatz fehlerhaft"],
  [0xfc, "terminal-fault", "device missing", "appareil absent", "Gerät fehlt"],
  [0xfd, "terminal-fault", "speed refused", "vitesse refusée", "Geschwindigkeit abgelehnt"],
  [0xfe, "terminal-fault", "register unknown", "caisse inconnue", "Kasse unbekannt"],
  [0xff, "terminal-fault", "other error", "autre erreur", "anderer Fehler"],
];

const byCode = new Map(
  rows.map(([code, reason, en, fr, de]) => [code, { reason, texts: { en, fr, de } }]),
);

/** docs/zvt.md 11.4: these come from the host of the bank. */
const HOST_CODE_MIN = 1;
const HOST_CODE_MAX = 99;

/** The meaning of a code to the customer, and its texts. */
export function resultCode(code: number): {
  readonly reason: CodeReason;
  readonly texts: Texts;
} {
  const known = byCode.get(code);
  if (known) return known;
  if (code >= HOST_CODE_MIN && code <= HOST_CODE_MAX) {
    const said = hostCodeText(code);
    return {
      reason: "declined",
      texts: {
        en: `declined by the bank (${said})`,
        fr: `refusé par la banque (${said})`,
        de: `von der Bank abgelehnt (${said})`,
      },
    };
  }
  return {
    reason: "terminal-fault",
    texts: { en: "unknown code", fr: "code inconnu", de: "unbekannter Code" },
  };
}

export function resultText(code: number, language: Language): string {
  return resultCode(code).texts[language];
}

/**
 * Codes of a locked terminal (docs/zvt.md 5.3, 11.5), which sends them in a 06 1E without any
 * result. In the result of a payment the same codes are the bank's.
 */
const locks: ReadonlyMap<number, Texts> = new Map([
  [0x51, lock("initialisation needed", "initialisation requise", "Initialisierung nötig")],
  [0x62, lock("clock not set", "heure non réglée", "Uhr nicht gestellt")],
]);

function lock(en: string, fr: string, de: string): Texts {
  return { en, fr, de };
}

/** A refusal without a result, 06 1E or 84 xx, is the terminal's own. */
export function refusalText(code: number, language: Language): string {
  return locks.get(code)?.[language] ?? resultText(code, language);
}

/** A refusal without a result says that the terminal is locked. */
export function isLock(code: number): boolean {
  return locks.has(code);
}

/** Codes after which the same card may work: it was unreadable, its PIN wrong, the host away. */
const sameCardCodes: readonly number[] = [
  0x37, 0x64, 0x65, 0x66, 0x6c, 0x72, 0x7b, 0x7c, 0x7d, 0x7e, 0x9b, 0x9c, 0xa0, 0xa1, 0xa3, 0xeb,
  0xec,
  // ISO 8583, as hosts use them: allowable tries left, issuer or switch not available.
  91, 96,
];

/** docs/zvt.md 6.2, 11.4: 27 from 1 to 99 decimal, and the real code in A0, are the host's. */
export function declineAdvice(code: number, resultCodeAs?: number) {
  const isHost = code >= HOST_CODE_MIN && code <= HOST_CODE_MAX;
  const ownCode = isHost ? hostCodeText(code) : null;
  const hostCode = resultCodeAs ? codeText(resultCodeAs) : ownCode;
  const declined = resultCode(code).reason === "declined";
  const otherwise = declined ? "other-card" : "no";
  const tryAgain = sameCardCodes.includes(code) ? "same-card" : otherwise;
  return { hostCode, tryAgain } as const;
}

/** docs/zvt.md 6.4: an update or a restart follows a good end. */
const goodCompletionCodes: readonly number[] = [0x00, 0xe0, 0xfc];

/** Whether a completion with this code says that the command was carried out. */
export function isGoodCompletion(code: number): boolean {
  return goodCompletionCodes.includes(code);
}

/** `05`: two digits, as banks and their papers name it. */
function hostCodeText(code: number): string {
  return String(code).padStart(2, "0");
}

/** 84 6B: the terminal wants to be registered first. */
export const NOT_REGISTERED = 0x6b;

/** The code of 84 xx or 06 1E; the one inside 84 1E. Without any, FF: other error. */
export function codeOf({ parts, control }: Message): number {
  if (parts.resultCode !== undefined) return parts.resultCode;
  return control >> 8 === 0x84 ? control & 0xff : 0xff;
}

/** `6C`, as codes are written in answers and logs. */
export function codeText(code: number): string {
  return code.toString(16).padStart(2, "0").toUpperCase();
}
