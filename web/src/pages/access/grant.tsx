import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, CopyButton, ErrorNote, Form, Name, Until, Warnings } from '../../components/basics.tsx';
import { RoleLink } from '../../components/name-links.tsx';
import { NO_SUBJECT, SubjectFields, TextField, UntilField } from '../../components/fields.tsx';
import { UntilPresets } from '../../components/until-presets.tsx';
import { TablePicker } from '../../components/name-picker.tsx';
import { call } from '../../lib/api.ts';
import { expiryOf, prettyJson } from '../../lib/format.ts';
import { useChange } from '../../lib/use-change.ts';
import type { TableNames } from '../../lib/types.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { useData } from '../../lib/use-data.ts';
import { visible } from '../../lib/visible.ts';
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
  // The names are suggestions: a user who may not list the tables can type one.
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
        <strong>
          <Name text={grant.subject.subject} />
        </strong>{' '}
        may {grant.level} {visible(grant.tables.join(', '))}
        {grant.until !== '' && (
          <>
            {' '}
            <Until time={expiryOf(grant.until).expiresAt} />
          </>
        )}
        , by the role <RoleLink role={name} />.
        {created.token && (
          <>
            {' '}
            Its app has the token <code>{created.token.accessKey}</code>.
          </>
        )}
      </p>
      <Warnings warnings={created.policy?.warnings} />
      <button type="button" onClick={props.onAgain}>
        Grant other access
      </button>
    </div>
  );
}

/** The policy that the grant creates. */
function PolicyPreview(props: { grant: Grant; name: string; complete: boolean }): JSX.Element | null {
  const { grant, name } = props;
  if (grant.tables.length === 0) return null;
  return (
    <>
      <h3>The policy</h3>
      <pre class="secret" id="grant-policy">
        {prettyJson(documentOf(grant))}
      </pre>
      {props.complete && <CopyButton label="Copy as manifest" text={() => manifestOf(grant, name)} />}
    </>
  );
}

/** What exists after a step has failed. */
function PartlyGranted(props: { name: string; created: Created }): JSX.Element {
  const { name, created } = props;
  return (
    <p class="note note-warn" role="note">
      The policy {name} {created.role ? 'and its role exist' : 'exists'} already
      {created.token && `, and the token ${created.token.accessKey}`}. Grant again to continue, or start again under
      another name.
    </p>
  );
}

interface GrantForm {
  readonly grant: Grant;
  readonly setGrant: (grant: Grant) => void;
  readonly name: string;
  readonly setName: (name: string) => void;
  readonly created: Created;
  readonly error: string | undefined;
  readonly apply: () => Promise<void>;
  readonly reset: () => void;
}

function useGrantForm(): GrantForm {
  const [input, setInput, discard] = useDraftOr<{ grant: Grant; name?: string }>('grant', { grant: EMPTY });
  const { grant } = input;
  const [created, setCreated] = useState<Created>({});
  const { error, attempt, clearError } = useChange();
  const name = input.name ?? suggestedName(grant);
  return {
    grant,
    setGrant: (changed) => setInput({ ...input, grant: changed }),
    name,
    setName: (typed) => setInput({ grant, name: typed }),
    created,
    error,
    apply: async () => {
      await attempt(() => carryOut(grant, name, created, setCreated));
    },
    reset: () => {
      discard();
      setCreated({});
      clearError();
    },
  };
}

function GrantFields(props: { form: GrantForm }): JSX.Element {
  const { grant, setGrant, name, setName, created, error, apply, reset } = props.form;
  const complete = grant.subject.subject !== '' && grant.tables.length > 0 && name !== '';
  const begun = created.policy !== undefined;
  const failed = begun && error !== undefined;
  return (
    <Form>
      {/* Existing objects belong to this grant: a repeated attempt continues with the same values. */}
      <fieldset disabled={begun} class="plain">
        <Fields grant={grant} onChange={setGrant} />
        <TextField
          label="Name of the role and the policy"
          hint="Lower-case letters, digits, - and . (cannot be changed later)"
          required
          value={name}
          onChange={setName}
        />
      </fieldset>
      <PolicyPreview grant={grant} name={name} complete={complete} />
      <ErrorNote message={error} />
      {failed && <PartlyGranted name={name} created={created} />}
      <div class="row">
        <BusyButton class="primary" type="submit" onPress={apply} disabled={!complete}>
          Grant
        </BusyButton>
        {failed && (
          <button type="button" onClick={reset}>
            Start again
          </button>
        )}
      </div>
    </Form>
  );
}

/** Grants access to tables in one form: a policy, a role with it, and its assignments. */
export function GrantTab(): JSX.Element {
  const form = useGrantForm();
  const { grant, name, created, error } = form;
  const [shownToken, setShownToken] = useState<string>();
  const { token } = created;
  return (
    <section class="card" aria-labelledby="grant">
      <h2 id="grant">Grant access to tables</h2>
      {/* Also after a failure: Start again would lose the secret, which only this response has. */}
      {token && (created.assigned || error !== undefined) && shownToken !== token.accessKey && (
        <CreatedToken
          token={token}
          assigned={created.tokenAssigned === true}
          onClose={() => setShownToken(token.accessKey)}
        />
      )}
      {created.assigned ? (
        <Granted grant={grant} name={name} created={created} onAgain={form.reset} />
      ) : (
        <GrantFields form={form} />
      )}
    </section>
  );
}
