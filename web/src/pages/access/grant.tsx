import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BusyButton, CopyButton, Form, Name, Until, Warnings } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { RoleLink } from '../../components/name-links.tsx';
import { NO_SUBJECT, SubjectFields, TextField, UntilField } from '../../components/fields.tsx';
import { UntilPresets } from '../../components/until-presets.tsx';
import { TablePicker } from '../../components/name-picker.tsx';
import { call } from '../../lib/api.ts';
import { expiryOf, prettyJson } from '../../lib/format.ts';
import type { Level } from '../../lib/refusal.ts';
import { useChange } from '../../lib/use-change.ts';
import type { TableNames } from '../../lib/types.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import { useSession } from '../../lib/session.ts';
import { useSettled } from '../../lib/use-settled.ts';
import { Difference } from '../../components/difference.tsx';
import { useDraftOr } from '../../lib/use-draft.ts';
import { useData } from '../../lib/use-data.ts';
import { visible } from '../../lib/visible.ts';
import { assignmentsOf, existingOf, type Existing } from './grant-existing.ts';
import { carryOut, documentOf, manifestOf, suggestedName, type Created, type Grant } from './grant-plan.ts';
import { CreatedToken } from './tokens.tsx';

/** Time for the look-up of a name that was typed just before Grant, milliseconds. */
const LOOK_UP_MS = 30_000;
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

function Fields(props: { grant: Grant; onChange: (grant: Grant) => void; isNewSubject: boolean }): JSX.Element {
  const { grant, onChange, isNewSubject } = props;
  // The names are suggestions: a user who may not list the tables can type one.
  const tables = useData('table-names', (signal) => call<TableNames>('/tables', { signal }));
  return (
    <>
      <div class="columns">
        <SubjectFields value={grant.subject} onChange={(subject) => onChange({ ...grant, subject })} autoFocus />
      </div>
      {isNewSubject && (
        <p class="note note-warn grant-note" role="status">
          {visible(grant.subject.subject)} has no role yet: check the spelling.
        </p>
      )}
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

/** What the grant adds to a role of an earlier one, and who else gets it. */
function Extends(props: { form: GrantForm }): JSX.Element | null {
  const { grant, name, existing } = props.form;
  if (existing === undefined || (existing.policy === undefined && !existing.hasRole)) return null;
  const { policy, subjects, otherRoles } = existing;
  const others = (subjects ?? []).filter(({ subject }) => subject !== grant.subject.subject);
  return (
    <div class="note note-warn grant-note" role="status">
      <span>
        <RoleLink role={name} /> exists: Grant extends it, and sets its end for {visible(grant.subject.subject)}.
        {others.length > 0 &&
          ` Others with this role get the same: ${visible(others.map(({ subject }) => subject).join(', '))}.`}
        {otherRoles.length > 0 && ` Other roles with its policy allow the same: ${visible(otherRoles.join(', '))}.`}
        {subjects === undefined && ' You may not read who else has this role.'}
      </span>
      {policy && (
        <Difference
          label="What Grant changes in the policy"
          before={prettyJson(policy.policyDocument)}
          after={prettyJson(documentOf(grant, policy))}
        />
      )}
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
  /** What has this name; undefined until it is known. */
  readonly existing: Existing | undefined;
  /** Whether no role that the caller may read is assigned to the subject. */
  readonly isNewSubject: boolean;
  readonly created: Created;
  readonly error: string | undefined;
  readonly apply: () => Promise<void>;
  readonly reset: () => void;
}

/** The input of the form. A link can fill it, such as that of a refusal. */
function useGrantInput(): [
  { grant: Grant; name?: string },
  (input: { grant: Grant; name?: string }) => void,
  () => void,
] {
  const { query } = useLocation();
  const draft = useDraftOr<{ grant: Grant; name?: string }>('grant', { grant: EMPTY });
  const [input, setInput] = draft;
  const table = query.get('table');
  useEffect(() => {
    if (table === null) return;
    const subjectType = query.get('subjectType') || NO_SUBJECT.subjectType;
    const level = LEVELS.find((one) => one.level === query.get('level'))?.level ?? 'read';
    const subject = { subjectType, subject: query.get('subject') ?? '' };
    setInput({ grant: { ...EMPTY, subject, tables: [table], level } });
    setQuery({ table: undefined, subject: undefined, subjectType: undefined, level: undefined }, true);
  }, [table]);
  return [table === null ? input : { grant: EMPTY }, setInput, draft[2]];
}

/** The roles of the subject, and what has the name of the grant. */
function useKnown(
  grant: Grant,
  typedName: string | undefined,
): Pick<GrantForm, 'existing' | 'isNewSubject' | 'name'> & {
  readonly reload: () => void;
} {
  const { access } = useSession();
  const subject = useSettled(JSON.stringify(grant.subject));
  const held = useData(`assignments of ${subject}`, (signal) =>
    assignmentsOf(JSON.parse(subject) as Grant['subject'], signal),
  );
  const roles = held.value?.map(({ role }) => role);
  const name = typedName ?? suggestedName(grant, roles, access['CreateRole']);
  const settled = useSettled(name);
  const existing = useData(`existing ${settled}`, (signal) => existingOf(settled, signal));
  return {
    name,
    existing: settled === name ? existing.value : undefined,
    isNewSubject: grant.subject.subject !== '' && subject === JSON.stringify(grant.subject) && roles?.length === 0,
    reload: () => {
      held.reload();
      existing.reload();
    },
  };
}

function useGrantForm(): GrantForm {
  const [input, setInput, discard] = useGrantInput();
  const { grant } = input;
  const [created, setCreated] = useState<Created>({});
  const { error, attempt, clearError } = useChange();
  const { reload, ...known } = useKnown(grant, input.name);
  return {
    ...known,
    grant,
    setGrant: (changed) => setInput({ ...input, grant: changed }),
    setName: (typed) => setInput({ grant, name: typed }),
    created,
    error,
    apply: async () => {
      const { name } = known;
      await attempt(async () => {
        const existing = known.existing ?? (await existingOf(name, AbortSignal.timeout(LOOK_UP_MS)));
        await carryOut({ grant, name, existing }, created, setCreated);
      });
      reload();
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
    <Form class="grant-form">
      {/* Existing objects belong to this grant: a repeated attempt continues with the same values. */}
      <fieldset disabled={begun} class="plain">
        <Fields grant={grant} onChange={setGrant} isNewSubject={props.form.isNewSubject} />
        <TextField
          label="Name of the role and the policy"
          hint="Lower-case letters, digits, - and . (cannot be changed later)"
          required
          value={name}
          onChange={setName}
        />
      </fieldset>
      {begun ? null : <Extends form={props.form} />}
      {(begun || props.form.existing?.policy === undefined) && (
        <PolicyPreview grant={grant} name={name} complete={complete} />
      )}
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
