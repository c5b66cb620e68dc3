import { hash, timingSafeEqual } from "node:crypto";
import { z } from "zod";

const category = z.strictObject({ id: z.int().positive(), label: z.string().min(1) });

/** Invented categories of goods; at the real gateway each merchant has a list of its own. */
const defaultCategories: Category[] = [
  { id: 1, label: "General" },
  { id: 5, label: "Vending machine" },
  { id: 8, label: "Ticket machine" },
  { id: 200, label: "Parking" },
];

const httpsAddress = z.url({ protocol: /^https$/, error: "must be an https address" });
const webAddress = z.url({ protocol: /^https?$/, error: "must be an http or https address" });

const websiteSchema = z.strictObject({
  id: z.int().positive(),
  currency: z.string().regex(/^[A-Z]{3}$/, "must be three capital letters"),
  categories: z.array(category).min(1).default(defaultCategories),
  /** The address of the merchant's style sheet for the payment page. */
  css: httpsAddress.optional(),
  /** The address that gets the fraud event (docs/design.md 12.19: svnotif.url). */
  fraudUrl: webAddress.optional(),
  /** The secret that signs notifications in place of the password (docs/gateway.md 3.2). */
  salt: z.string().min(1).optional(),
  /** The secret of the fraud event's signature header (docs/gateway.md 4.2). */
  passphrase: z.string().min(1).optional(),
});

/** The longest login in characters; the gateway's documents allow only 32 (docs/gateway.md 2.2). */
export const LOGIN_LENGTH_MAX = 255;
export const LOGIN_LENGTH_DESCRIBED = 32;

/** A merchant of the sandbox: its credentials, and its websites with what each website can sell. */
export const accountSchema = z.strictObject({
  login: z.string().min(1).max(LOGIN_LENGTH_MAX),
  password: z.string().min(1).max(32),
  /** The key that authenticates a v3 lookup in place of login and password. */
  apiKey: z.string().min(1).optional(),
  subAccounts: z.array(z.strictObject({ id: z.int(), login: z.string().min(1) })).default([]),
  websites: z.array(websiteSchema).min(1),
});

/** The content of the file of `--account`: one merchant, or a list of merchants. */
export const accountFileSchema = z.preprocess(
  (content) => (Array.isArray(content) ? content : [content]),
  z.array(accountSchema).min(1),
);

export type Category = z.infer<typeof category>;
export type Website = z.infer<typeof websiteSchema>;
export type Account = z.infer<typeof accountSchema>;
export type AccountInput = z.input<typeof accountSchema>;

/** Returns the account if login and password are right; passwords are compared in constant time. */
export function accountOf(accounts: readonly Account[], login: string, password: string) {
  const account = accounts.find((candidate) => candidate.login === login);
  return account && sameSecret(account.password, password) ? account : undefined;
}

/** Returns the website of an order; undefined: its account or website no longer exists. */
export function websiteOf(
  accounts: readonly Account[],
  order: { readonly login: string; readonly websiteId: number },
): Website | undefined {
  const account = accounts.find(({ login }) => login === order.login);
  return account?.websites.find(({ id }) => id === order.websiteId);
}

/** Returns whether two secrets are the same, in constant time. */
export function sameSecret(expected: string, given: string): boolean {
  return timingSafeEqual(hash("sha256", expected, "buffer"), hash("sha256", given, "buffer"));
}
