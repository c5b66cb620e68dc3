import {
  type Fact,
  factTable,
  type Learned,
  type LearnedFrom,
  type LearnedStore,
} from "../matching/learned.ts";
import type { Statement, Statements } from "./statements.ts";

/** Changes with each terminal that is accepted, and with each loss of the journal. */
const era = `(SELECT ifnull((SELECT max(id) FROM accepted_terminal), 0) || ' ' ||
  ifnull((SELECT id || ' ' || before_attempt || ' ' || since_ms FROM store_doubt
    ORDER BY id DESC LIMIT 1), ''))`;

const texts = {
  read: `SELECT holds FROM learned WHERE terminal = ? AND fact = ? AND era = ${era}`,
  forget: `DELETE FROM learned WHERE terminal <> ? OR era <> ${era}`,
  keep: `INSERT OR REPLACE INTO learned (terminal, fact, holds, era) VALUES (?, ?, ?, ${era})`,
};

/** One row for each fact of the terminal of now. */
export class LearnedRows implements LearnedStore {
  readonly #statements: Statements;
  readonly #sql: Record<keyof typeof texts, Statement>;

  constructor(statements: Statements) {
    this.#statements = statements;
    this.#sql = statements.prepare("learned", texts);
  }

  of({ setup, identity: { deviceId, serialNumber, version } }: LearnedFrom): Learned {
    const terminal = JSON.stringify([setup, deviceId, serialNumber, version]);
    const holds = (fact: Fact) => this.#sql.read.kept(terminal, fact)?.["holds"];
    return {
      has: (fact) => holds(fact) === 1,
      refuted: (fact) => holds(fact) === 0,
      saw: (fact) => {
        const known = holds(fact);
        if (known === undefined || (known === 0 && !factTable[fact].permits)) {
          this.#keep(terminal, fact, 1);
        }
      },
      contradicted: (fact) => {
        if (holds(fact) !== 0) this.#keep(terminal, fact, 0);
      },
    };
  }

  #keep(terminal: string, fact: Fact, holds: 0 | 1): void {
    this.#statements.transaction(() => {
      this.#sql.forget.run(terminal);
      this.#sql.keep.run(terminal, fact, holds);
    });
  }
}
