import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, CopyButton, ErrorNote, Form, Link, Prose, Until } from '../../components/basics.tsx';
import { NO_SUBJECT, SubjectFields, TextField, UntilField } from '../../components/fields.tsx';
import { UntilPresets } from '../../components/until-presets.tsx';
import { TablePicker } from '../../components/table-picker.tsx';
import { call } from '../../lib/api.ts';
import { expiryOf, prettyJson } from '../../lib/format.ts';
import { useChange } from '../../lib/use-change.ts';
import type { TableNames } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { carryOut, documentOf, manifestOf, suggestedName, type Created, type Grant, type Level } from './grant-plan.ts';
import { CreatedToken } from './tokens.tsx';

const EMPTY: Grant = { subject: NO_SUBJECT, tables: [], level: 'read', until: '', withToken: false };
const LEVELS: readonly { level: Level; label: string }[] = [
  { level: 'read', label: 'read: query, and see schema and size' },
  { level: 'write', label: 'write: also add, replace and delete segments' },
  { level: 'manage', label: 'manage: everything on these tables, also delete them' },
];

function Levels(props: { value: Level; onChange: (level: Level) => void }): JSX.Element {
  return (
    <fieldset class="field">
      <legend class="label">What</legend>
      {LEVELS.map(({ level, label }) => (
        <label class="choice" key={level}>
          <input type="radio" name="level" checked={props.value === level} onChange={() => props.onChange(level)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Fields(props: { grant: Grant; onChange: (grant: Grant) => void }): JSX.Element {
  const { grant, onChange } = props;
  // Suggestions only: a user who may not list the tables can type a name.
  const tables = useData('table-names', (signal) => call<TableNames>('/tables', { signal }));
  return (
    <>
      <div class="columns">
        <SubjectFields value={grant.subject} onChange={(subject) => onChange({ ...grant, subject })} autoFocus />
      </div>
      <TablePicker
        names={tables.value?.tables ?? []}
        value={grant.tables}
        onChange={(picked) => onChange({ ...grant, tables: picked })}
      />
      <Levels value={grant.level} onChange={(level) => onChange({ ...grant, level })} />
      <div class="until">
        <UntilField value={grant.until} onChange={(until) => onChange({ ...grant, until })} />
        <UntilPresets onPick={(until) => onChange({ ...grant, until })} />
      </div>
      <label class="choice">
        <input
          type="checkbox"
          checked={grant.withToken}
          onChange={(event) => onChange({ ...grant, withToken: event.currentTarget.checked })}
        />
        <span>Also create a service token for an app, with the same access and expiry</span>
      </label>
    </>
  );
}

function Granted(props: { grant: Grant; name: string; created: Created; onAgain: () => void }): JSX.Element {
  const { grant, name, created } = props;
  return (
    <div role="status">
      <p>
        <strong>{grant.subject.subject}</strong> may {grant.level} {grant.tables.join(', ')}{' '}
        <Until time={expiryOf(grant.until).expiresAt} />, by the role{' '}
        <Link to={`/access?tab=roles&name=${encodeURIComponent(name)}`}>{name}</Link>.
        {created.token && (
          <>
            {' '}
            Its app has the token <code>{created.token.accessKey}</code>.
          </>
        )}
      </p>
      {(created.policy?.warnings ?? []).map((warning) => (
        <p class="note note-warn" key={warning}>
          <Prose text={warning} />
        </p>
      ))}
      <button type="button" onClick={props.onAgain}>
        Grant other access
      </button>
    </div>
  );
}

/** Grants access to tables in one form: a policy, a role with it, and its assignments. */
export function GrantTab(): JSX.Element {
  const [grant, setGrant] = useState(EMPTY);
  const [typedName, setTypedName] = useState<string>();
  const [created, setCreated] = useState<Created>({});
  const [tokenShown, setTokenShown] = useState(false);
  const { error, attempt, clearError } = useChange();
  const name = typedName ?? suggestedName(grant);
  const complete = grant.subject.subject !== '' && grant.tables.length > 0 && name !== '';
  const begun = created.policy !== undefined;
  const reset = (): void => {
    setGrant(EMPTY);
    setTypedName(undefined);
    setCreated({});
    setTokenShown(false);
    clearError();
  };
  const apply = async (): Promise<void> => {
    await attempt(() => carryOut(grant, name, created, setCreated));
  };
  return (
    <section class="card" aria-labelledby="grant">
      <h2 id="grant">Grant access to tables</h2>
      {/* Also after a failure: Start again would lose the secret, which only this response has. */}
      {created.token && (created.assigned || error !== undefined) && !tokenShown && (
        <CreatedToken
          token={created.token}
          assigned={created.tokenAssigned === true}
          onClose={() => setTokenShown(true)}
        />
      )}
      {created.assigned ? (
        <Granted grant={grant} name={name} created={created} onAgain={reset} />
      ) : (
        <Form>
          {/* Existing objects belong to this grant: a repeated attempt continues with the same values. */}
          <fieldset disabled={begun} class="plain">
            <Fields grant={grant} onChange={setGrant} />
            <TextField
              label="Name of the role and the policy"
              hint="Lower-case letters, digits, - and . (cannot be changed later)"
              required
              value={name}
              onChange={setTypedName}
            />
          </fieldset>
          {grant.tables.length > 0 && (
            <>
              <h3>The policy</h3>
              <pre class="secret" id="grant-policy">
                {prettyJson(documentOf(grant))}
              </pre>
              {complete && <CopyButton label="Copy as manifest" text={() => manifestOf(grant, name)} />}
            </>
          )}
          <ErrorNote message={error} />
          {begun && error !== undefined && (
            <p class="note note-warn" role="note">
              The policy {name} {created.role ? 'and its role exist' : 'exists'} already
              {created.token && `, and the token ${created.token.accessKey}`}. Grant again to continue, or start again
              under another name.
            </p>
          )}
          <div class="row">
            <BusyButton class="primary" type="submit" onPress={apply} disabled={!complete}>
              Grant
            </BusyButton>
            {begun && error !== undefined && (
              <button type="button" onClick={reset}>
                Start again
              </button>
            )}
          </div>
        </Form>
      )}
    </section>
  );
}
