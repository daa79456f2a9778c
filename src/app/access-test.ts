import { writeFile } from 'node:fs/promises';
import { readAccessTest, type AccessCase } from '../access/tests/access-test.ts';
import { answerTo, mismatchOf, type Answer } from '../access/tests/answer.ts';
import type { Deployment } from '../access/policy/srn.ts';
import { systemClock, type WallClock } from '../platform/clock.ts';
import { xmlText } from '../platform/xml-text.ts';
import { ManifestError } from '../store/manifests/manifest-set.ts';
import { lineOf, YamlError, YamlReader } from '../store/manifests/yaml-documents.ts';
import { ACCESS_EXIT } from './access-plan.ts';
import { placeIn, readSide, type AccessSide } from './parts/access-sides.ts';
import type { CommandContext } from './parts/context.ts';
import { manifestsIn } from './parts/manifest-files.ts';

/** The arguments of `access test`. */
export interface TestRequest {
  readonly tests: readonly string[];
  /** Files and folders of manifests. */
  readonly manifests: readonly string[];
  readonly deployment: Deployment;
  readonly namespace: string | undefined;
  /** File for the results as JUnit XML. */
  readonly junit: string | undefined;
}

interface PlacedCase extends AccessCase {
  /** `<file>:<line>` */
  readonly place: string;
  readonly file: string;
}

interface Result extends PlacedCase {
  readonly title: string;
  /** Undefined if the answer is the expected one. */
  readonly failure: string | undefined;
}

/** Prints which answers differ from the expected ones. @returns the exit code @throws {Error} what cannot be read, and where */
export async function accessTest(
  request: TestRequest,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  signal: AbortSignal,
  clock: WallClock = systemClock,
): Promise<number> {
  const { deployment, namespace } = request;
  const reader = new YamlReader();
  const cases = await readCases(request.tests, reader);
  const side = await readSide(
    { from: 'files', paths: request.manifests },
    { reader, namespace, deployment, clock, signal },
  );
  for (const note of side.notes) stderr(`note: ${note}\n`);
  const results = cases.map((one) => resultOf(one, side));
  const failed = results.filter(({ failure }) => failure !== undefined);
  for (const { place, title, failure } of failed) stdout(`${place}: ${title}: ${failure}\n`);
  stdout(`${results.length} questions, ${failed.length} with another answer than expected\n`);
  if (request.junit !== undefined) await writeFile(request.junit, junitOf(results));
  return failed.length > 0 ? ACCESS_EXIT.fail : ACCESS_EXIT.pass;
}

async function readCases(paths: readonly string[], reader: YamlReader): Promise<PlacedCase[]> {
  const cases: PlacedCase[] = [];
  const problems: string[] = [];
  for (const { path, text } of await manifestsIn(paths)) {
    try {
      for (const document of reader.documents(text)) {
        const found = readAccessTest(document.value);
        const placeOf = (at: readonly (string | number)[]): string => `${path}:${lineOf(document, at)}`;
        problems.push(...found.problems.map((problem) => `${placeOf(problem.path)}: ${problem.message}`));
        for (const one of found.cases) cases.push({ ...one, file: path, place: placeOf(['spec', 'cases', one.index]) });
      }
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      problems.push(`${path}:${error.line}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new ManifestError(problems);
  return cases;
}

function resultOf(one: PlacedCase, side: AccessSide): Result {
  const who = one.subjects.map(({ type, name }) => `${type} \`${name}\``).join(', ');
  const title = one.name ?? `${who} \`${one.action}\` on \`${one.resource}\``;
  const answer = answerTo(side.set.directory, one);
  if (typeof answer === 'string') return { ...one, title, failure: answer };
  const mismatch = mismatchOf(one, answer);
  return { ...one, title, failure: mismatch && `${mismatch}: ${becauseOf(answer, side)}` };
}

const MAX_STATEMENTS = 5;

/** The statements that decide, each with its place. */
export function becauseOf({ by, decision, answer }: Answer, side: AccessSide): string {
  if (by.length === 0) return 'no statement allows it';
  const verb = { allow: 'allows it', deny: 'denies it', filter: 'allows a part of it' }[answer];
  const statements = by.slice(0, MAX_STATEMENTS).map(({ role, policy, statementIndex }) => {
    const name = policy ?? '';
    const path = ['spec', 'statements', statementIndex];
    const place = placeIn(side, { kind: 'Policy', name, path });
    const through = role === undefined ? '' : ` of role \`${role}\``;
    const where = place === undefined ? '' : ` (${place})`;
    const what = decision.reason === 'invalidPolicy' ? 'which is invalid and denies everything' : verb;
    return `statement ${statementIndex} of policy \`${name}\`${through}${where} ${what}`;
  });
  const more = by.length - statements.length;
  return `${statements.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function junitOf(results: readonly Result[]): string {
  const failures = results.filter(({ failure }) => failure !== undefined).length;
  const counts = `name="olap-warden access test" tests="${results.length}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite ${counts}>`,
    ...results.map(({ title, file, place, failure }) => {
      const head = `    <testcase name="${xmlText(title)}" classname="${xmlText(file)}"`;
      if (failure === undefined) return `${head}/>`;
      return `${head}><failure message="${xmlText(failure)}">${xmlText(place)}</failure></testcase>`;
    }),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}
