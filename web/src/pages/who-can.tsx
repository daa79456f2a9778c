import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Badge, BusyButton, ErrorNote, Form, Link, Until } from '../components/basics.tsx';
import { CopyAs } from '../components/copy-as.tsx';
import { NO_SUBJECT, optionsOf, SubjectFields, TextField } from '../components/fields.tsx';
import { Table } from '../components/table.tsx';
import { ApiError, call, encodeSrn, rbac } from '../lib/api.ts';
import { prettyJson } from '../lib/format.ts';
import type { RestCall } from '../lib/copy.ts';
import { setQuery, useHistoryMoves, useLocation } from '../lib/router.ts';
import type { Policy, SimulatedDecision, Subject, WhoCan, TableNames } from '../lib/types.ts';
import { useChange } from '../lib/use-change.ts';
import { useData } from '../lib/use-data.ts';
import { Also, bySubjectType, subjectsOf, textOf } from './who-can/subjects.tsx';
import { COMMON_ACTIONS, RESOURCES } from './access/policy-assist.ts';

const TABLE = 'srn2:table#';
/** Further matching policies are shown without their text. */
const MAX_POLICIES = 20;

const REASONS: Record<SimulatedDecision['reason'], string> = {
  allowed: 'A statement allows it and none denies it.',
  systemAdmin:
    'The role system-admin allows it. No deny and no invalid policy takes the management of access from its holders.',
  explicitDeny: 'A statement denies it; a deny overrides every allow.',
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
              {match.statementIndex + 1} of policy <code>{match.policy}</code> in role <code>{match.role}</code>
            </p>
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
  const choices = optionsOf([...RESOURCES, ...tables.map((name) => TABLE + name)]);
  return (
    <TextField
      {...input}
      hint="Such as srn2:table#events, srn2:role#analysts or srn2:cluster#*"
      required
      choices={choices}
    />
  );
}

function Ask(props: { tables: readonly string[] }): JSX.Element {
  const { query } = useLocation();
  const [subject, setSubject] = useState<Subject>({
    subjectType: query.get('type') ?? NO_SUBJECT.subjectType,
    subject: query.get('subject') ?? '',
  });
  const [also, setAlso] = useState<readonly Subject[]>(() => subjectsOf(query.get('also')));
  const [action, setAction] = useState(query.get('action') ?? 'Query');
  const [resource, setResource] = useState(query.get('resource') ?? TABLE);
  const [answer, setAnswer] = useState<{
    decision: SimulatedDecision;
    policies: ReadonlyMap<string, Policy>;
    asked: RestCall;
  }>();
  const { error, attempt } = useChange();
  const ask = async (): Promise<void> => {
    setQuery({ type: subject.subjectType, subject: subject.subject, also: textOf(also), action, resource });
    const subjectTypeToSubject = bySubjectType([subject, ...also]);
    const body = { subjectTypeToSubject, resourceSrn2String: resource, action };
    const asked = { method: 'POST', path: rbac('/simulate-access'), body } as const;
    await attempt(async () => {
      const decision = await call<SimulatedDecision>(asked.path, asked);
      setAnswer({ decision, policies: await loadPolicies(decision), asked });
    });
  };
  // A URL with a complete question shows the answer at once.
  useEffect(() => {
    if ((subject.subject !== '' || also.length > 0) && query.has('resource')) void ask();
  }, []);
  return (
    <section class="card" aria-labelledby="ask">
      <h2 id="ask">Who can do what</h2>
      <Form class="columns">
        <SubjectFields value={subject} onChange={setSubject} />
        <ActionField label="Action" hint="Such as Query or GetHealth" value={action} onChange={setAction} />
        <ResourceField label="Resource" tables={props.tables} value={resource} onChange={setResource} />
        <BusyButton
          class="primary"
          type="submit"
          onPress={ask}
          disabled={(subject.subject === '' && also.length === 0) || action === ''}
        >
          Check
        </BusyButton>
        <button
          type="button"
          disabled={subject.subject === ''}
          onClick={() => {
            setAlso([...also.filter((other) => textOf([other]) !== textOf([subject])), subject]);
            setSubject({ ...subject, subject: '' });
          }}
        >
          And another subject
        </button>
      </Form>
      <Also subjects={also} onChange={setAlso} />
      <ErrorNote message={error} />
      {answer && (
        <div role="status">
          <p class="decision">
            <Badge tone={answer.decision.decision === 'ALLOW' ? 'good' : 'bad'}>{answer.decision.decision}</Badge>{' '}
            {REASONS[answer.decision.reason]}
          </p>
          <DecidingStatements decision={answer.decision} policies={answer.policies} />
          <CopyAs call={answer.asked} />
        </div>
      )}
    </section>
  );
}

function AllowingRoles(props: { roles: WhoCan['roles']; total: number }): JSX.Element {
  if (props.total === 0) return <p class="muted">No role allows it.</p>;
  return (
    <Table label="Roles that allow it" columns={['Role', 'By policy', 'Statement']}>
      {props.roles.map((row) => (
        <tr key={row.role}>
          <td>
            <NameLink tab="roles" name={row.role} />
          </td>
          <td>
            <NameLink tab="policies" name={row.policy} />
          </td>
          <td>{row.statementIndex + 1}</td>
        </tr>
      ))}
    </Table>
  );
}

function NameLink(props: { tab: 'roles' | 'policies'; name: string }): JSX.Element | null {
  if (props.name === '') return null;
  return <Link to={`/access?tab=${props.tab}&name=${encodeURIComponent(props.name)}`}>{props.name}</Link>;
}

function AllowedSubjects(props: { subjects: WhoCan['subjects'] }): JSX.Element {
  if (props.subjects.length === 0) return <p class="muted">No subject with a role may do it.</p>;
  return (
    <Table label="Who may do it" columns={['Subject', 'Kind', 'By role', 'By policy', 'Statement', 'Until']}>
      {props.subjects.map((row) => (
        <tr key={`${row.subjectType}/${row.subject}/${row.role}`}>
          <td class="wrap">
            {row.subject} {row.description !== undefined && <span class="muted">{row.description}</span>}
          </td>
          <td>{row.subjectType}</td>
          <td>
            <NameLink tab="roles" name={row.role} />
          </td>
          <td>
            <NameLink tab="policies" name={row.policy} />
          </td>
          <td>{row.statementIndex + 1}</td>
          <td>
            <Until time={row.expiresAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Reverse(props: { tables: readonly string[] }): JSX.Element {
  const { query } = useLocation();
  const [action, setAction] = useState(query.get('whoAction') ?? 'Query');
  const [resource, setResource] = useState(query.get('whoResource') ?? TABLE);
  const [found, setFound] = useState<WhoCan & { readonly path: string }>();
  const { error, attempt } = useChange();
  const ask = async (): Promise<void> => {
    setQuery({ whoAction: action, whoResource: resource });
    const question = new URLSearchParams({ action, resource });
    const path = rbac(`/who-can?${question.toString()}`);
    if (!(await attempt(async () => setFound({ ...(await call<WhoCan>(path)), path })))) setFound(undefined);
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
      {found && (
        <>
          <AllowingRoles roles={found.roles} total={found.totalRoles} />
          <AllowedSubjects subjects={found.subjects} />
          <CopyAs call={{ method: 'GET', path: found.path }} />
        </>
      )}
    </section>
  );
}

export function WhoCanPage(): JSX.Element {
  // Suggestions only: a user who may not list the tables can type a name.
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
