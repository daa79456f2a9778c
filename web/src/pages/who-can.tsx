import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Badge, BusyButton, Form } from '../components/basics.tsx';
import { ErrorNote } from '../components/loaded.tsx';
import { CopyAs } from '../components/copy-as.tsx';
import { NO_SUBJECT, optionsOf, SubjectFields, TextField } from '../components/fields.tsx';
import { PolicyLink, RoleLink } from '../components/name-links.tsx';
import { GrantLink } from '../components/refusal.tsx';
import { ApiError, call, encodeSrn, rbac } from '../lib/api.ts';
import { prettyJson } from '../lib/format.ts';
import type { RestCall } from '../lib/copy.ts';
import { setQuery, useHistoryMoves, useLocation } from '../lib/router.ts';
import type { Policy, SimulatedDecision, Subject, WhoCan, TableNames } from '../lib/types.ts';
import { useSession } from '../lib/session.ts';
import { useChange } from '../lib/use-change.ts';
import { visible } from '../lib/visible.ts';
import { useDraft } from '../lib/use-draft.ts';
import { useData } from '../lib/use-data.ts';
import { AllowedSubjects, AllowingRoles } from './who-can/allowed.tsx';
import { Also, bySubjectType, subjectsOf, textOf } from './who-can/subjects.tsx';
import { meaningOf, partInWords } from './access/meaning.ts';
import { COMMON_ACTIONS, RESOURCES } from './access/policy-assist.ts';

const TABLE = 'srn2:table#';
/** Further matching policies are shown without their text. */
const MAX_POLICIES = 20;

const TONES = { ALLOW: 'good', CONDITIONAL: 'warn', DENY: 'bad' } as const;

const REASONS: Record<SimulatedDecision['reason'], string> = {
  allowed: 'A statement allows it and none denies it.',
  systemAdmin:
    'The role system-admin allows it. No deny and no invalid policy takes the management of access from its holders.',
  explicitDeny: 'A statement denies it; a deny overrides every allow.',
  conditional: 'Statements with conditions allow a part of the table: these rows and columns.',
  implicitDeny: 'No statement matches; the default is deny.',
  invalidPolicy: 'A policy of the subject’s roles is invalid; an invalid policy denies everything.',
};

/** The statements of the matching policies, with the matching statement marked. */
function DecidingStatements(props: {
  decision: SimulatedDecision;
  policies: ReadonlyMap<string, Policy>;
}): JSX.Element {
  return (
    <ul class="statements">
      {props.decision.statementsOmitted === true && <li class="muted">Further statements that you may not read.</li>}
      {props.decision.matchedStatements.map((match) => {
        const policy =
          match.policy === null || match.policy === undefined ? undefined : props.policies.get(match.policy);
        const statements = policy
          ? (JSON.parse(policy.policyDocumentJson) as { statements: unknown[] }).statements
          : [];
        return (
          <li key={`${match.role}/${match.policy}/${match.statementIndex}`}>
            <p>
              <Badge tone={match.effect === 'allow' ? 'good' : 'bad'}>{match.effect}</Badge> statement{' '}
              {match.statementIndex + 1} of policy <PolicyLink policy={match.policy ?? ''} /> in role{' '}
              <RoleLink role={match.role ?? ''} />
            </p>
            {match.resources && <p>{visible(meaningOf([{ ...match, resources: match.resources }]))}</p>}
            {statements.map((statement, index) => (
              <pre
                key={index}
                class={index === match.statementIndex ? 'deciding' : 'other'}
                aria-current={index === match.statementIndex ? 'true' : undefined}
              >
                {prettyJson(statement)}
              </pre>
            ))}
          </li>
        );
      })}
    </ul>
  );
}

/** The matching policies by name, without those that the caller may not read. */
async function loadPolicies({ matchedStatements }: SimulatedDecision): Promise<ReadonlyMap<string, Policy>> {
  const names = new Set(matchedStatements.map(({ policy }) => policy).filter((name) => typeof name === 'string'));
  const policies = new Map<string, Policy>();
  for (const name of [...names].slice(0, MAX_POLICIES)) {
    try {
      policies.set(name, await call<Policy>(rbac(`/policies/${encodeSrn(`srn2:policy#${name}`)}`)));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error;
    }
  }
  return policies;
}

interface TextInput {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function ActionField(props: TextInput & { readonly hint: string }): JSX.Element {
  return <TextField {...props} required choices={optionsOf(COMMON_ACTIONS)} />;
}

function ResourceField({ tables, ...input }: TextInput & { readonly tables: readonly string[] }): JSX.Element {
  const { cluster } = useSession();
  // A question is about one resource, without `*`.
  const single = RESOURCES.filter((resource) => !resource.includes('*'));
  const choices = optionsOf([`srn2:cluster#${cluster}`, ...single, ...tables.map((name) => TABLE + name)]);
  return <TextField {...input} hint="One resource, such as srn2:table#events" required choices={choices} />;
}

interface Question {
  readonly subject: Subject;
  /** Further subjects of the same person. */
  readonly also: readonly Subject[];
  readonly action: string;
  readonly resource: string;
}

interface Decided {
  readonly decision: SimulatedDecision;
  readonly policies: ReadonlyMap<string, Policy>;
  readonly asked: RestCall;
  readonly question: Question;
}

/** The question in the address. */
const questionOf = (query: URLSearchParams): Question => ({
  subject: {
    subjectType: query.get('type') ?? NO_SUBJECT.subjectType,
    subject: query.get('subject') ?? '',
  },
  also: subjectsOf(query.get('also')),
  action: query.get('action') ?? 'Query',
  resource: query.get('resource') ?? TABLE,
});

/** @throws {ApiError} */
async function decide(question: Question): Promise<Decided> {
  const { subject, also, action, resource } = question;
  const body = { subjectTypeToSubject: bySubjectType([subject, ...also]), resourceSrn2String: resource, action };
  const asked = { method: 'POST', path: rbac('/simulate-access'), body } as const;
  const decision = await call<SimulatedDecision>(asked.path, asked);
  return { decision, policies: await loadPolicies(decision), asked, question };
}

/** What may be read of the table, in words. */
function ReadablePart(props: { conditions: NonNullable<SimulatedDecision['conditions']> }): JSX.Element {
  const { conditions } = props;
  const part = partInWords(conditions);
  const values = Object.entries(conditions.values ?? {}).map(([name, texts]) => `${name} is ${texts.join(', ')}`);
  return (
    <>
      <p>{visible(part === '' ? 'The whole table, by all statements together.' : `It reads ${part}.`)}</p>
      {values.length > 0 && <p class="muted">{visible(values.join('; '))}.</p>}
    </>
  );
}

function Decision(props: { decided: Decided }): JSX.Element {
  const { decision, policies, asked, question } = props.decided;
  return (
    <div role="status">
      <p class="decision">
        <Badge tone={TONES[decision.decision]}>{decision.decision}</Badge> {REASONS[decision.reason]}{' '}
        {decision.reason === 'implicitDeny' && <GrantLink refused={question} subject={question.subject} />}
      </p>
      {decision.conditions && <ReadablePart conditions={decision.conditions} />}
      <DecidingStatements decision={decision} policies={policies} />
      <CopyAs call={asked} />
    </div>
  );
}

interface QuestionFieldsProps {
  question: Question;
  onChange: (question: Question) => void;
  tables: readonly string[];
  onAsk: () => Promise<void>;
}

function QuestionFields(props: QuestionFieldsProps): JSX.Element {
  const { question, onChange } = props;
  const { subject, also, action, resource } = question;
  const another = (): void => {
    const others = also.filter((other) => textOf([other]) !== textOf([subject]));
    onChange({ ...question, also: [...others, subject], subject: { ...subject, subject: '' } });
  };
  return (
    <Form class="columns">
      <SubjectFields value={subject} onChange={(changed) => onChange({ ...question, subject: changed })} />
      <ActionField
        label="Action"
        hint="Such as Query or GetHealth"
        value={action}
        onChange={(changed) => onChange({ ...question, action: changed })}
      />
      <ResourceField
        label="Resource"
        tables={props.tables}
        value={resource}
        onChange={(changed) => onChange({ ...question, resource: changed })}
      />
      <BusyButton
        class="primary"
        type="submit"
        onPress={props.onAsk}
        disabled={(subject.subject === '' && also.length === 0) || action === ''}
      >
        Check
      </BusyButton>
      <button type="button" disabled={subject.subject === ''} onClick={another}>
        And another subject
      </button>
    </Form>
  );
}

function Ask(props: { tables: readonly string[] }): JSX.Element {
  const { query } = useLocation();
  const [draft, setDraft] = useDraft<Question>('who-can');
  const [question, setShown] = useState(() => (query.has('resource') ? undefined : draft) ?? questionOf(query));
  const setQuestion = (changed: Question): void => {
    setShown(changed);
    setDraft(changed);
  };
  const [decided, setDecided] = useState<Decided>();
  const { error, attempt } = useChange();
  const ask = async (): Promise<void> => {
    const { subject, also, action, resource } = question;
    setQuery({ type: subject.subjectType, subject: subject.subject, also: textOf(also), action, resource });
    // From now on the address has it.
    setDraft(undefined);
    await attempt(async () => setDecided(await decide(question)));
  };
  // A URL with a complete question shows the decision at once.
  useEffect(() => {
    const { subject, also } = question;
    if ((subject.subject !== '' || also.length > 0) && query.has('resource')) void ask();
  }, []);
  return (
    <section class="card" aria-labelledby="ask">
      <h2 id="ask">Who can do what</h2>
      <QuestionFields question={question} onChange={setQuestion} tables={props.tables} onAsk={ask} />
      <Also subjects={question.also} onChange={(also) => setQuestion({ ...question, also })} />
      <ErrorNote message={error} />
      {decided && <Decision decided={decided} />}
    </section>
  );
}

/** The roles that allow an action, and who holds them. */
function Allowing(props: { found: WhoCan; path: string }): JSX.Element {
  const { roles, totalRoles, subjects } = props.found;
  return (
    <>
      <AllowingRoles roles={roles} total={totalRoles} />
      <AllowedSubjects subjects={subjects} />
      <CopyAs call={{ method: 'GET', path: props.path }} />
    </>
  );
}

function Reverse(props: { tables: readonly string[] }): JSX.Element {
  const { query } = useLocation();
  const [action, setAction] = useState(query.get('whoAction') ?? 'Query');
  const [resource, setResource] = useState(query.get('whoResource') ?? TABLE);
  const [found, setFound] = useState<{ readonly found: WhoCan; readonly path: string }>();
  const { error, attempt } = useChange();
  const ask = async (): Promise<void> => {
    setQuery({ whoAction: action, whoResource: resource });
    const path = rbac(`/who-can?${new URLSearchParams({ action, resource }).toString()}`);
    if (!(await attempt(async () => setFound({ found: await call<WhoCan>(path), path })))) setFound(undefined);
  };
  useEffect(() => {
    if (query.has('whoResource')) void ask();
  }, []);
  return (
    <section class="card" aria-labelledby="reverse">
      <h2 id="reverse">Which roles allow it, and who holds them</h2>
      <Form class="columns">
        <ActionField
          label="Action to look up"
          hint="Such as DeleteTable; * for every action"
          value={action}
          onChange={setAction}
        />
        <ResourceField label="Resource to look up" tables={props.tables} value={resource} onChange={setResource} />
        <BusyButton type="submit" onPress={ask} disabled={action === '' || resource === ''}>
          Show
        </BusyButton>
      </Form>
      <ErrorNote message={error} />
      {found && <Allowing {...found} />}
    </section>
  );
}

export function WhoCanPage(): JSX.Element {
  // The names are suggestions: a user who may not list the tables can type one.
  const tables = useData('table-names', (signal) => call<TableNames>('/tables', { signal }));
  const names = tables.value?.tables ?? [];
  const moves = useHistoryMoves();
  return (
    <>
      <h1>Who can</h1>
      <Ask key={`ask ${moves}`} tables={names} />
      <Reverse key={`reverse ${moves}`} tables={names} />
    </>
  );
}
