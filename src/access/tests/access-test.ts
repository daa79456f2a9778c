import { API_VERSION, API_VERSIONS } from '../../resources/meta.ts';
import { nearest } from '../../resources/nearest.ts';
import { SUBJECT_TYPES, type Subject } from '../../resources/role-assignment.ts';
import { subjectProblem } from '../../resources/subject-name.ts';
import { askedActionProblem } from '../policy/actions.ts';

/** Files with this kind are read by `olap-warden access test`. It is not a custom resource. */
export const ACCESS_TEST = 'AccessTest';

export const EXPECTATIONS = ['allow', 'deny', 'filter'] as const;
export type Expectation = (typeof EXPECTATIONS)[number];

/** One question, and the answer that is expected. */
export interface AccessCase {
  readonly name: string | undefined;
  /** Of one caller: all of them at once. */
  readonly subjects: readonly Subject[];
  /** Texts of the claims in the token of the caller, by name. */
  readonly claims: Readonly<Record<string, string>>;
  readonly action: string;
  readonly resource: string;
  readonly expect: Expectation;
  /** Of each filter that is expected, alternatives in any order; undefined: any. */
  readonly rows: readonly string[] | undefined;
  /** Name of a policy with a deciding statement; `none` where no statement matches; undefined: any. */
  readonly why: string | undefined;
  /** Position in `spec.cases`. */
  readonly index: number;
}

/** A problem with its path in the object. */
export interface CaseProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const FIELDS = ['name', 'subject', 'subjects', 'claims', 'action', 'resource', 'expect', 'rows', 'why'];

/** Reads the cases of an AccessTest. @param value of the document */
export function readAccessTest(value: unknown): { readonly cases: AccessCase[]; readonly problems: CaseProblem[] } {
  const problems: CaseProblem[] = [];
  const { apiVersion, kind, spec } = isRecord(value) ? value : {};
  if (kind !== ACCESS_TEST || !API_VERSIONS.includes(String(apiVersion))) {
    problems.push({
      path: [],
      message: `not a test: it needs \`apiVersion: ${API_VERSION}\` and \`kind: ${ACCESS_TEST}\``,
    });
    return { cases: [], problems };
  }
  const list = isRecord(spec) ? spec['cases'] : undefined;
  if (!Array.isArray(list) || list.length === 0) {
    problems.push({ path: ['spec'], message: '`spec.cases` must be a list of at least one case' });
    return { cases: [], problems };
  }
  const cases = list.flatMap((one, index) => new CaseReader(one, index, problems).read() ?? []);
  return { cases, problems };
}

class CaseReader {
  readonly #fields: Record<string, unknown>;
  readonly #index: number;
  readonly #problems: CaseProblem[];
  readonly #before: number;

  constructor(value: unknown, index: number, problems: CaseProblem[]) {
    this.#fields = isRecord(value) ? value : {};
    this.#index = index;
    this.#problems = problems;
    this.#before = problems.length;
    if (!isRecord(value)) this.#report('', 'must have `subject`, `action`, `resource` and `expect`');
  }

  read(): AccessCase | undefined {
    for (const field of Object.keys(this.#fields).filter((name) => !FIELDS.includes(name))) {
      const meant = nearest(field, FIELDS);
      this.#report(
        field,
        `unknown field; ${meant === undefined ? `fields are ${FIELDS.join(', ')}` : `did you mean \`${meant}\`?`}`,
      );
    }
    const expect = EXPECTATIONS.find((one) => one === this.#fields['expect']);
    if (expect === undefined) this.#report('expect', `must be one of ${EXPECTATIONS.join(', ')}`);
    const action = this.#text('action') ?? '';
    const problem = action === '' ? 'is required, such as `Query`' : askedActionProblem(action);
    if (problem !== undefined) this.#report('action', problem);
    const resource = this.#text('resource') ?? '';
    if (resource === '') this.#report('resource', 'is required, such as `srn2:table#events`');
    const rows = this.#rows();
    if (rows !== undefined && expect !== 'filter') this.#report('rows', 'needs `expect: filter`');
    const found: AccessCase = {
      name: this.#text('name'),
      subjects: this.#subjects(),
      claims: this.#claims(),
      action,
      resource,
      expect: expect ?? 'deny',
      rows,
      why: this.#text('why'),
      index: this.#index,
    };
    return this.#problems.length > this.#before ? undefined : found;
  }

  #text(field: string): string | undefined {
    const value = this.#fields[field];
    if (value === undefined || typeof value === 'string') return value;
    this.#report(field, 'must be a text');
    return undefined;
  }

  #subjects(): Subject[] {
    const { subject, subjects } = this.#fields;
    const given = subject === undefined ? subjects : [subject];
    const isOne = subject !== undefined && subjects === undefined;
    if (!Array.isArray(given) || given.length === 0 || !(isOne || subject === undefined)) {
      this.#report('', 'needs `subject`, such as `{type: group, name: analysts}`, or a list `subjects` of one caller');
      return [];
    }
    return given.flatMap((one): Subject[] => {
      const { type, name } = isRecord(one) ? one : {};
      const known = SUBJECT_TYPES.find((candidate) => candidate === type);
      const field = isOne ? 'subject' : 'subjects';
      if (known === undefined) this.#report(field, `\`type\` must be one of ${SUBJECT_TYPES.join(', ')}`);
      if (typeof name !== 'string' || name === '') this.#report(field, '`name` must be a text');
      if (known === undefined || typeof name !== 'string' || name === '') return [];
      const problem = subjectProblem({ type: known, name });
      if (problem !== undefined) this.#report(field, problem);
      return [{ type: known, name }];
    });
  }

  #claims(): Record<string, string> {
    const { claims = {} } = this.#fields;
    const entries = isRecord(claims) ? Object.entries(claims) : undefined;
    const isTexts = entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string') ?? false;
    if (entries !== undefined && isTexts) return Object.fromEntries(entries as [string, string][]);
    this.#report('claims', 'must have a text for each claim');
    return {};
  }

  #rows(): readonly string[] | undefined {
    const { rows } = this.#fields;
    if (rows === undefined) return undefined;
    if (Array.isArray(rows) && rows.every((row): row is string => typeof row === 'string')) return rows;
    this.#report('rows', 'must be a list of filters, such as `["region = \'eu\'"]`');
    return undefined;
  }

  #report(field: string, message: string): void {
    const path = ['spec', 'cases', this.#index, ...(field === '' ? [] : [field])];
    this.#problems.push({ path, message: `spec.cases[${this.#index}]${field === '' ? '' : `.${field}`}: ${message}` });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
