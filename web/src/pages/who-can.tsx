import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, BusyButton, ErrorNote, Field, Link } from '../components/basics.tsx';
import { call, messageOfError, rbac } from '../lib/api.ts';
import { prettyJson } from '../lib/format.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import type { Policy, SimulatedDecision } from '../lib/types.ts';

const REASONS: Record<SimulatedDecision['reason'], string> = {
  allowed: 'A statement allows it and none denies it.',
  explicitDeny: 'A statement denies it; a deny beats every allow.',
  implicitDeny: 'No statement matches; what nothing matches is denied.',
  invalidPolicy: 'A policy of its roles cannot be read; such a policy denies everything.',
};

interface Access {
  readonly subject: string;
  readonly subjectType: string;
  readonly role: string;
  readonly policy?: string;
}

/** The policy's statements as they stand, the deciding one marked. */
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
              {match.statementIndex + 1} of policy <code>{match.policy}</code>, held by role <code>{match.role}</code>
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

function Ask(): JSX.Element {
  const { query } = useLocation();
  const [subjectType, setSubjectType] = useState(query.get('type') ?? 'user-email');
  const [subject, setSubject] = useState(query.get('subject') ?? '');
  const [action, setAction] = useState(query.get('action') ?? 'Query');
  const [resource, setResource] = useState(query.get('resource') ?? 'srn2:table#');
  const [answer, setAnswer] = useState<{ decision: SimulatedDecision; policies: ReadonlyMap<string, Policy> }>();
  const [error, setError] = useState<string>();
  const ask = async (): Promise<void> => {
    setError(undefined);
    setQuery({ type: subjectType, subject, action, resource });
    try {
      const body = { subjectTypeToSubject: { [subjectType]: subject }, resourceSrn2String: resource, action };
      const decision = await call<SimulatedDecision>(rbac('/simulate-access'), { method: 'POST', body });
      const names = [
        ...new Set(decision.matchedStatements.map((match) => match.policy).filter((name) => typeof name === 'string')),
      ];
      const policies = new Map<string, Policy>();
      for (const name of names.slice(0, 20)) {
        try {
          policies.set(name, await call<Policy>(rbac(`/policies/${encodeURIComponent(`srn2:policy#${name}`)}`)));
        } catch {
          // A policy that the caller may not read is named without its text.
        }
      }
      setAnswer({ decision, policies });
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  return (
    <section class="card" aria-labelledby="ask">
      <h2 id="ask">Who can do what</h2>
      <form
        class="columns"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <Field label="Subject is">
          {(id) => (
            <select id={id} value={subjectType} onChange={(event) => setSubjectType(event.currentTarget.value)}>
              <option value="user-email">a user</option>
              <option value="group">a group</option>
              <option value="domain">an e-mail domain</option>
              <option value="service-token">a service token</option>
            </select>
          )}
        </Field>
        <Field label="Subject" hint="E-mail address, group, domain or access key">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              value={subject}
              onInput={(event) => setSubject(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Action" hint="Such as Query, GetHealth, CreateRole">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              value={action}
              onInput={(event) => setAction(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Resource" hint="Such as srn2:table#events">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              value={resource}
              onInput={(event) => setResource(event.currentTarget.value)}
            />
          )}
        </Field>
        <BusyButton class="primary" type="submit" onPress={ask} disabled={subject === '' || action === ''}>
          Decide
        </BusyButton>
      </form>
      <ErrorNote message={error} />
      {answer && (
        <div role="status">
          <p class="decision">
            <Badge tone={answer.decision.decision === 'ALLOW' ? 'good' : 'bad'}>{answer.decision.decision}</Badge>{' '}
            {REASONS[answer.decision.reason]}
          </p>
          <DecidingStatements decision={answer.decision} policies={answer.policies} />
        </div>
      )}
    </section>
  );
}

function Reverse(): JSX.Element {
  const [table, setTable] = useState('');
  const [rows, setRows] = useState<readonly Access[]>();
  const [error, setError] = useState<string>();
  const ask = async (): Promise<void> => {
    setError(undefined);
    try {
      const resource = encodeURIComponent(`srn2:table#${table}`);
      setRows((await call<{ subjects: Access[] }>(rbac(`/who-can?action=Query&resource=${resource}`))).subjects);
    } catch (failure) {
      setRows(undefined);
      setError(messageOfError(failure));
    }
  };
  return (
    <section class="card" aria-labelledby="reverse">
      <h2 id="reverse">Who may query a table</h2>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <label class="inline">
          <span>Table</span>
          <input required value={table} onInput={(event) => setTable(event.currentTarget.value)} />
        </label>
        <BusyButton type="submit" onPress={ask} disabled={table === ''}>
          Show
        </BusyButton>
      </form>
      <ErrorNote message={error} />
      {rows && rows.length === 0 && <p class="muted">Nobody whom a role is assigned to may query this table.</p>}
      {rows && rows.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Who may query the table">
          <table>
            <thead>
              <tr>
                <th scope="col">Subject</th>
                <th scope="col">Kind</th>
                <th scope="col">By role</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.subjectType}/${row.subject}/${row.role}`}>
                  <td>{row.subject}</td>
                  <td>{row.subjectType}</td>
                  <td>
                    <Link to={`/access?tab=roles&name=${encodeURIComponent(row.role)}`}>{row.role}</Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

export function WhoCanPage(): JSX.Element {
  return (
    <>
      <h1>Who can</h1>
      <Ask />
      <Reverse />
    </>
  );
}
