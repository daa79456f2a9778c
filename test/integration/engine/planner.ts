import { answers, decoded, startPrograms, type Program } from './java.ts';

/** A text as one request has it. */
export interface Planned {
  readonly text: string;
  /** Of the header. */
  readonly database: string | undefined;
  /** Whether the engine compares the names of tables, CTEs and columns by case. */
  readonly byCase: boolean;
}

/** How a version of the engine plans a text. */
export interface Plan {
  /** `database.table` of each scan; `lookup:table` for what the servers look up. */
  readonly tables: readonly string[];
  /** `database.table < node < … < root` of each scan, with the conditions of filters and the expressions of projections. Empty if the text is valid but could not be converted. */
  readonly scans: readonly string[];
  /** The names of the columns of the result. */
  readonly columns: readonly string[];
  /** Equal for two texts with the same plan. Empty if the text is valid but could not be converted. */
  readonly tree: string;
}

export interface Refused {
  readonly error: string;
}

export interface Planners {
  readonly versions: readonly Planner[];
  readonly remove: () => Promise<void>;
}

export async function startPlanners(): Promise<Planners> {
  const { versions, remove } = await startPrograms('Planner');
  return { versions: versions.map((program) => new Planner(program)), remove };
}

interface Answer {
  readonly error?: string;
  readonly tables: readonly string[];
  readonly scans: readonly string[];
  readonly columns: readonly string[];
  readonly plan: string;
}

/** The planner of one version. */
export class Planner {
  readonly version: string;
  readonly #arguments: readonly string[];

  constructor(program: Program) {
    this.version = program.version;
    this.#arguments = program.arguments;
  }

  /** @param onPlan gets the index and the plan of each text, in order */
  async plan(texts: readonly Planned[], onPlan: (index: number, plan: Plan | Refused) => void): Promise<void> {
    const lines = texts.map(
      ({ text, database, byCase }) =>
        `${byCase ? 1 : 0} ${database ?? '-'} ${Buffer.from(text || ' ').toString('base64')}`,
    );
    await answers(this.#arguments, lines, (index, answer) => onPlan(index, planOf(answer)));
  }
}

function planOf(line: string): Plan | Refused {
  const { error, tables, scans, columns, plan } = JSON.parse(line) as Answer;
  if (error !== undefined) return { error: decoded(error) };
  return { tables: tables.map(decoded), scans: scans.map(decoded), columns: columns.map(decoded), tree: decoded(plan) };
}
