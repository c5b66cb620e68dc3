import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { openForReading } from "../../src/shared/store/sqlite.ts";
import { until } from "../support/programs/child-program.ts";
import { TestInstallation } from "../support/programs/installation.ts";

interface WireEvent {
  readonly what: string;
  readonly direction?: string;
  readonly message?: string;
}

/** An installation whose terminal and journal are watched for traces of what got in. */
export class GuardedHouse extends TestInstallation {
  /** Signs in as a person does: the browser remembers the pair for each of the names. */
  async signIn(context: BrowserContext, ports: readonly number[]): Promise<void> {
    const page = await context.newPage();
    for (const port of ports) {
      for (const host of ["127.0.0.1", "localhost"]) {
        await page.goto(`http://kiosk:${this.password}@${host}:${port}/version`);
      }
    }
    await page.close();
  }

  /** Until the terminal asks for a card (--customer manual). */
  async waitsForCard(): Promise<void> {
    await until("the terminal waits for a card", async () => {
      const state = await this.control<{ waitsForCustomer: boolean }>("GET", "/state");
      return state.waitsForCustomer || undefined;
    });
  }

  async presentCard(): Promise<void> {
    await this.waitsForCard();
    await this.control("POST", "/customer", { action: "insert" });
  }

  /** What reached the terminal, without the driver's own status enquiries (05 01). */
  async wire(): Promise<readonly string[]> {
    const { events } = await this.control<{ events: WireEvent[] }>("GET", "/trace?last=1000");
    return events
      .filter(({ what, direction }) => what === "apdu" && direction === "in")
      .map(({ message = "" }) => message)
      .filter((message) => !/^(0501|80-?00)/.test(message));
  }

  /**
   * Every row of the journal, but for what is written by the clock: the figures of each full hour,
   * and the test write after a time without writes.
   */
  journal(): unknown {
    const database = openForReading(join(this.data, "journal.db"));
    try {
      const tables = database
        .prepare(
          `SELECT name FROM sqlite_schema
           WHERE type = 'table' AND name NOT IN ('hour', 'store_proof') ORDER BY name`,
        )
        .all() as Array<{ name: string }>;
      return tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
    } finally {
      database.close();
    }
  }

  /** Waits until the journal has what comes after a start and a payment by itself. */
  async delivered(): Promise<void> {
    await until("the journal knows that all is at the gateway, and the supervisor's alarms", () => {
      const database = openForReading(join(this.data, "journal.db"));
      try {
        const open = "SELECT 1 FROM hand_off WHERE acknowledged = 0 OR delivery <> 'sent'";
        const isSent = database.prepare(open).get() === undefined;
        const hasAlarms = database.prepare("SELECT 1 FROM alarm_taken").get() !== undefined;
        return (isSent && hasAlarms) || undefined;
      } finally {
        database.close();
      }
    });
  }

  /** How many requests with this status the local API has answered. */
  async answered(status: number): Promise<number> {
    const headers = { authorization: `Basic ${btoa(`kiosk:${this.password}`)}` };
    const text = await (await fetch(`${this.url}/metrics`, { headers })).text();
    const counts = text.matchAll(/^connector_api_answer_seconds_count\{(.*)\} (\d+)$/gm);
    return [...counts]
      .filter(([, labels]) => labels?.includes(`status="${status}"`))
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  }
}
