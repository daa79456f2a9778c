import type { Bench } from './frame/bench.ts';

/** The export of a file in `bench/suites/`. */
export interface Suite {
  /** Measures and reports; cleans up after itself. */
  run(bench: Bench): Promise<void>;
}

export interface SuitePlan {
  readonly name: string;
  /** What it measures, for the document. */
  readonly about: string;
  /** Expected time on two quiet cores, with all parts installed. */
  readonly seconds: number;
  readonly fullSeconds: number;
}

/** In the order of execution. A suite that takes longer than {@link LIMIT_TIMES} times its expected time is stopped. */
export const SUITES: readonly SuitePlan[] = [
  { name: 'decisions', about: 'Policy decisions and the index of roles', seconds: 45, fullSeconds: 150 },
  { name: 'sql', about: 'The SQL check', seconds: 45, fullSeconds: 60 },
  { name: 'kubernetes', about: 'Gateways on a Kubernetes API with 10,000 roles', seconds: 300, fullSeconds: 300 },
  { name: 'image', about: 'The container image', seconds: 60, fullSeconds: 60 },
  { name: 'health', about: 'Health runs', seconds: 60, fullSeconds: 120 },
  { name: 'pages', about: 'Indexing, pages and storing', seconds: 420, fullSeconds: 600 },
  { name: 'export', about: 'Results as DataFrames', seconds: 140, fullSeconds: 140 },
  { name: 'proxy', about: 'Queries that pass through', seconds: 90, fullSeconds: 90 },
  { name: 'broker', about: 'Queries on a real Pinot', seconds: 430, fullSeconds: 430 },
  { name: 'rows', about: 'Conditions on rows', seconds: 150, fullSeconds: 210 },
  { name: 'cursors', about: "Pinot's own cursors", seconds: 120, fullSeconds: 240 },
  { name: 'load', about: 'Many clients', seconds: 240, fullSeconds: 240 },
  { name: 'gateways', about: 'Several gateways', seconds: 75, fullSeconds: 75 },
  { name: 'profiles', about: 'What the hot paths spend', seconds: 120, fullSeconds: 120 },
  { name: 'stall', about: 'Requests that hold the event loop', seconds: 105, fullSeconds: 105 },
];

export const LIMIT_TIMES = 4;

/** @param only names separated by commas; all if empty @throws {Error} if a name is unknown */
export function chooseSuites(only: string | undefined): readonly SuitePlan[] {
  const wanted = (only ?? '').split(',').filter((name) => name !== '');
  const known = SUITES.map(({ name }) => name);
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`unknown suite \`${unknown.join(', ')}\`; known are ${known.join(', ')}`);
  }
  return wanted.length === 0 ? SUITES : SUITES.filter(({ name }) => wanted.includes(name));
}
