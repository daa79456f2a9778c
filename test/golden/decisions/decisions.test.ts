import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { DecisionReason } from '../../../src/access/authorizer.ts';
import { Directory, tokenPrincipal } from '../../../src/access/directory.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { clusterResource, parseSrn, type Srn } from '../../../src/access/policy/srn.ts';
import type { Policy } from '../../../src/resources/kinds.ts';
import type { Subject, SubjectType } from '../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, serviceToken, stored, withHashes } from '../../builders/resources.ts';
import { MemoryStore } from '../../unit/access/memory-store.ts';

interface Table {
  predefined?: boolean;
  policies?: Record<string, Policy['spec']['statements']>;
  roles?: Record<string, string[]>;
  assignments?: Record<string, string[]>;
  tokens?: Record<string, string>;
  questions: Question[];
}

interface Question {
  who: { user?: string; groups?: string[]; domain?: string; token?: string };
  /** `<action> on <resource>`, where `cluster` is the cluster that the deployment stands in. */
  asks: string;
  answer: DecisionReason;
  because?: string[];
}

const FIELDS = new Set(['predefined', 'policies', 'roles', 'assignments', 'tokens', 'questions']);
const folder = new URL('.', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

function directoryOf({ predefined, policies, roles, assignments, tokens }: Table): Directory {
  const store = new MemoryStore();
  if (predefined) store.seed(...PREDEFINED_POLICIES, ...PREDEFINED_ROLES);
  for (const [name, statements] of Object.entries(policies ?? {})) store.seed(policy(name, { statements }));
  for (const [name, held] of Object.entries(roles ?? {})) store.seed(role(name, { policies: held }));
  for (const [name, subjects] of Object.entries(assignments ?? {})) {
    store.seed(roleAssignment(name, { role: name, subjects: subjects.map(subjectOf) }));
  }
  for (const [name, accessKey] of Object.entries(tokens ?? {})) {
    store.seed(serviceToken(name, {}, stored(), withHashes({ accessKey })));
  }
  return new Directory(store, { environment: 'olap', cluster: 'pinot' });
}

function subjectOf(text: string): Subject {
  const [type, name] = text.split(' ');
  return { type: type as SubjectType, name: name! };
}

function principalOf({ user, groups = [], domain, token }: Question['who']): Principal {
  if (token !== undefined) return tokenPrincipal(token);
  const id = user ?? 'somebody@nowhere.example';
  return { kind: 'user', srn: `srn2:user#${id}`, id, groups, domain, authenticator: 'test' };
}

function resourceOf(text: string): Srn {
  if (text === 'cluster') return clusterResource;
  const parsed = parseSrn(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}

describe.each(files)('%s', (file) => {
  const table = parse(readFileSync(new URL(file, folder), 'utf8')) as Table;
  const directory = directoryOf(table);

  it('has only known fields', () => {
    expect(Object.keys(table).filter((key) => !FIELDS.has(key))).toEqual([]);
    expect(table.questions.length).toBeGreaterThan(0);
  });

  it.each(table.questions.map((question) => [JSON.stringify(question.who), question.asks, question] as const))(
    '%s asks %s',
    (_who, _asks, { who, asks, answer, because = [] }) => {
      const [action = '', resource = ''] = asks.split(' on ');
      const decision = directory.decide(principalOf(who), action, resourceOf(resource));
      expect(decision.reason).toBe(answer);
      expect(decision.allowed).toBe(answer === 'allowed' || answer === 'systemAdmin');
      const decided = decision.matchedStatements.map(
        (statement) => `${statement.role}/${statement.policy}/${statement.statementIndex}`,
      );
      expect(decided.sort()).toEqual(because.toSorted());
      expect(directory.isAllowed(principalOf(who), action, resourceOf(resource))).toBe(decision.allowed);
    },
  );
});
