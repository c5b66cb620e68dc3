import { type Fact, factTable, type Learned, type LearnedFrom } from "../matching/assumptions.ts";
import { rows } from "./database/statements.ts";

/** Changes with each terminal that is accepted, and with each loss of the journal. */
const era = `(SELECT ifnull((SELECT max(id) FROM accepted_terminal), 0) || ' ' ||
  ifnull((SELECT id || ' ' || before_attempt || ' ' || since_ms FROM store_doubt
    ORDER BY id DESC LIMIT 1), ''))`;

const texts = {
  read: `SELECT holds FROM learned WHERE terminal = ? AND fact = ? AND era = ${era}`,
  forget: `DELETE FROM learned WHERE terminal <> ? OR era <> ${era}`,
  keep: `INSERT OR REPLACE INTO learned (terminal, fact, holds, era) VALUES (?, ?, ?, ${era})`,
};

/**
 * Facts that the present terminal has shown, a row for each. A change of the setup or of the
 * identity forgets them, and so does a terminal that an operator accepts, and a journal that was
 * lost or put back.
 */
export class LearnedRows extends rows("learned", texts) {
  of({ setup, identity: { deviceId, serialNumber, version } }: LearnedFrom): Learned {
    const terminal = JSON.stringify([setup, deviceId, serialNumber, version]);
    const holds = (fact: Fact) => this.sql.read.kept(terminal, fact)?.["holds"];
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
    this.statements.transaction(() => {
      this.sql.forget.run(terminal);
      this.sql.keep.run(terminal, fact, holds);
    });
  }
}
