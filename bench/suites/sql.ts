import { judgeSql } from '../../src/access/sql/judge.ts';
import { SQL_LIMITS } from '../../src/access/sql/limits.ts';
import { DecisionEngine } from '../../src/access/policy/decision.ts';
import { tableResource } from '../../src/access/policy/srn.ts';
import type { Bench } from '../frame/bench.ts';
import { lastOf, measure, measureInTurn, seededRandom } from '../frame/measure.ts';
import { atMost, atMostTimes } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { measurePinotParser } from '../peers/pinot-parser.ts';
import { makeWorkload } from '../workloads/policies.ts';
import { longText, ordinaryTexts } from '../workloads/sql-corpus.ts';

const TEXTS = 600;
const ROUNDS = sized({ quick: { warmup: 2, rounds: 3 }, normal: { warmup: 40, rounds: 15 } });
const CHARACTERS = [200, 1000, 5000, 25_000, 100_000, 250_000];

/** Parse, decide and print, not cached. */
export async function run(bench: Bench): Promise<void> {
  await bench.part('SQL check of ordinary queries', () => ordinary(bench));
  await bench.part('SQL check by the length of the text', () => curveOfLength(bench));
}

/** Checks a text as the gateway does: parses it, decides on each table, prints the text for the engine. */
function checker(): (text: string) => { table: string; characters: number } {
  const workload = makeWorkload({ roles: 10, statementsPerRole: 10, principals: 1, questions: 1 }, seededRandom(7));
  const engine = new DecisionEngine(
    { environment: 'olap', cluster: 'pinot' },
    { heldRoles: () => ({ roles: [...workload.policies.keys()], validFrom: -Infinity, validUntil: Infinity }) },
  );
  for (const [name, spec] of workload.policies) {
    engine.setPolicy(name, spec);
    engine.setRole(name, [name]);
  }
  const principal = workload.principals[0]!;
  return (text) => {
    const judged = judgeSql(text);
    if (!judged.ok) throw new Error(`the SQL check rejects \`${text.slice(0, 200)}\`: ${judged.reason}`);
    const allowed = judged.tables.filter((table) => engine.isAllowed(principal, 'Query', tableResource(table)));
    return { table: judged.tables[0] ?? '', characters: judged.text.length + allowed.length };
  };
}

async function ordinary(bench: Bench): Promise<void> {
  const texts = ordinaryTexts(TEXTS, seededRandom(6));
  const check = checker();
  const ours = await measure(() => texts.map((text) => check(text).table), ROUNDS);
  const row = { work: 'SQL check of an ordinary query: parse, decide, print', unit: 'ms CPU', better: 'less' } as const;
  bench.add({ ...row, ours: ours.cpuMs / texts.length, goal: atMost(0.2, 'ms CPU') });
  const peer = "Pinot's own parser (0.11), warm JVM";
  bench.note(peer);
  try {
    const parser = await measurePinotParser(texts, ROUNDS);
    bench.add({
      ...row,
      ours: ours.cpuMs / texts.length,
      peer,
      theirs: parser.cpuMs / texts.length,
      answers: [ours.answer, parser.tables],
      goal: atMostTimes(1),
    });
  } catch (error) {
    bench.missing({ work: row.work, peer, reason: (error as Error).message });
  }
}

/** The cost must be linear in the length, up to the limit of a text. */
async function curveOfLength(bench: Bench): Promise<void> {
  const check = checker();
  const texts = CHARACTERS.map(longText);
  const tooLong = texts.find(({ length }) => length > SQL_LIMITS.bytes);
  if (tooLong !== undefined) throw new Error(`${tooLong.length} characters exceed the limit of a text`);
  const timesOf = (text: string): number => Math.ceil(250_000 / text.length);
  const [work, ...others] = texts.map((text) => () => {
    for (let time = 0; time < timesOf(text); time++) check(text);
  });
  const measured = await measureInTurn([work!, ...others], { warmup: 10, rounds: 31 });
  const points = measured.map(({ cpuMs }, index): [number, number] => {
    const text = texts[index]!;
    return [text.length, (cpuMs / timesOf(text) / text.length) * 1e6];
  });
  const [middle, last] = [points[2]!, lastOf(points)];
  bench.add({
    work: `SQL check of ${last[0]} characters, for each character`,
    unit: 'ns CPU',
    better: 'less',
    ours: last[1],
    peer: `the same with ${middle[0]} characters`,
    theirs: middle[1],
    goal: atMostTimes(1.5),
  });
  bench.curve({
    id: 'sql-check-by-length',
    title: 'SQL check by the length of the text',
    x: { label: 'length of the text', unit: 'characters', scale: 'log' },
    y: { label: 'CPU', unit: 'ns a character', scale: 'linear' },
    series: [{ name: 'parse, decide, print', points }],
    note: 'Short texts have fixed costs, such as the decision. A flat line is a cost that is linear in the length.',
  });
}
