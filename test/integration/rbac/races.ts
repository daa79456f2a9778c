import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { ANNOTATIONS } from '../../../src/resources/meta.ts';
import { seeded } from '../../support/seed.ts';
import { inPath, soon, type Deployment, type Gateway } from './gateways.ts';

const DOCUMENT = '{"version":"v1","statements":[{"effect":"allow","actions":"Query","resources":"srn2:table#events"}]}';
/** Races at the same time. Each has objects of its own. */
const PARALLEL = 10;
/** How much later the reference is sent than the deletion, milliseconds; less than 0: earlier. Follows the outcomes, so that both requests overlap whatever the load is. */
const FIRST_DELAY_MS = 5;
/** After each race the delay moves by this much and by this part of itself: under load it may have to reach some hundred milliseconds soon. */
const DELAY_STEP_MS = 2;
const DELAY_GROWTH = 0.2;
const random = seeded();

export interface Outcomes {
  deleted: number;
  referred: number;
  /** Neither succeeded; allowed. */
  neither: number;
  /** Both succeeded; never. */
  both: string[];
  /** References whose target is missing after both answers; never. */
  dangling: string[];
  /** Marks of deletions on targets that remain; never. */
  marked: string[];
}

interface Race {
  readonly name: string;
  prepare(gateways: readonly Gateway[]): Promise<void>;
  remove(gateway: Gateway): Promise<number>;
  refer(gateway: Gateway): Promise<number>;
  /** Whether target and reference exist, from the store itself. */
  look(gateway: Gateway): Promise<{ target: boolean; reference: boolean; marked: boolean }>;
}

const role = (name: string): string => `/roles/${inPath('role', name)}`;

function isMarked(object: { metadata: { annotations?: Record<string, string> } } | undefined): boolean {
  return object?.metadata.annotations?.[ANNOTATIONS.deleting] !== undefined;
}

async function create(gateways: readonly Gateway[], kind: 'Role' | 'Policy', name: string): Promise<void> {
  const body = kind === 'Role' ? { name } : { name, policyDocumentJson: DOCUMENT };
  expect((await gateways[0]!.call('POST', kind === 'Role' ? '/roles' : '/policies', body)).status).toBe(200);
  for (const { store } of gateways) await soon(() => expect(store.get(kind, name)).toBeDefined());
}

/** A role is deleted while it is assigned. */
export function roleRace(name: string): Race {
  return {
    name,
    prepare: (gateways) => create(gateways, 'Role', name),
    remove: async (gateway) => (await gateway.call('DELETE', role(name))).status,
    refer: async (gateway) =>
      (await gateway.call('POST', `${role(name)}/create-assignment`, { subject: 'analysts', subjectType: 'group' }))
        .status,
    async look({ store }) {
      const target = await store.read('Role', name);
      const assignments = await store.readAll('RoleAssignment');
      return {
        target: target !== undefined,
        reference: assignments.some(({ spec }) => spec.role === name),
        marked: isMarked(target),
      };
    },
  };
}

/** A policy is deleted while it is attached to a role of its own. */
export function policyRace(name: string): Race {
  return {
    name,
    async prepare(gateways) {
      await create(gateways, 'Role', name);
      await create(gateways, 'Policy', name);
    },
    remove: async (gateway) => (await gateway.call('DELETE', `/policies/${inPath('policy', name)}`)).status,
    refer: async (gateway) =>
      (await gateway.call('POST', `${role(name)}/attach-policy`, { policySrn: `srn2:policy#${name}` })).status,
    async look({ store }) {
      const target = await store.read('Policy', name);
      const holder = await store.read('Role', name);
      return {
        target: target !== undefined,
        reference: holder?.spec.policies?.includes(name) === true,
        marked: isMarked(target),
      };
    },
  };
}

interface Progress {
  readonly outcomes: Outcomes;
  delayMs: number;
}

async function run(race: Race, index: number, gateways: readonly Gateway[], progress: Progress): Promise<void> {
  const { outcomes } = progress;
  await race.prepare(gateways);
  const delayMs = progress.delayMs * (0.5 + random.next());
  const remover = gateways[index % gateways.length]!;
  const referrer = gateways[(index + 1) % gateways.length]!;
  const [removed, referred] = await Promise.all([
    delay(Math.max(0, -delayMs)).then(() => race.remove(remover)),
    delay(Math.max(0, delayMs)).then(() => race.refer(referrer)),
  ]);
  const step = DELAY_STEP_MS + Math.abs(progress.delayMs) * DELAY_GROWTH;
  progress.delayMs += removed === 200 ? -step : step;
  expect([200, 409]).toContain(removed);
  expect([200, 400, 404, 409]).toContain(referred);
  const { target, reference, marked } = await race.look(remover);
  if (removed === 200 && referred === 200) outcomes.both.push(race.name);
  else if (removed === 200) outcomes.deleted++;
  else if (referred === 200) outcomes.referred++;
  else outcomes.neither++;
  if (reference && !target) outcomes.dangling.push(race.name);
  if (marked) outcomes.marked.push(race.name);
  // Each response must match what is stored.
  expect({ target, reference }).toEqual({ target: removed !== 200, reference: referred === 200 });
}

/** Runs races, every second one with the gateways exchanged. */
export async function runRaces(
  { gateways }: Deployment,
  count: number,
  raceOf: (name: string) => Race,
  prefix: string,
): Promise<Outcomes> {
  const outcomes: Outcomes = { deleted: 0, referred: 0, neither: 0, both: [], dangling: [], marked: [] };
  const progress: Progress = { outcomes, delayMs: FIRST_DELAY_MS };
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++)
      await run(raceOf(`${prefix}-${index}`), index, gateways, progress);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return outcomes;
}
