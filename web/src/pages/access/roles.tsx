import type { JSX } from 'preact';
import { BusyButton, Form, LastUsed, Name, Until, When } from '../../components/basics.tsx';
import { ErrorNote, Loaded } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { PolicyLink } from '../../components/name-links.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NO_SUBJECT, Picker, SubjectFields, UntilField } from '../../components/fields.tsx';
import { call, callTagged, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { expiryOf, whole } from '../../lib/format.ts';
import { assignmentManifest, roleManifest } from '../../lib/copy.ts';
import { offerUndo } from '../../lib/notices.ts';
import { setQuery } from '../../lib/router.ts';
import { useMayOn, useSession } from '../../lib/session.ts';
import type { Assignment, PolicySummary, Role } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData, type Data } from '../../lib/use-data.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { visible } from '../../lib/visible.ts';
import { useVersionedDraft, type SavedVersion, type VersionedDraft } from '../../lib/use-versioned-draft.ts';
import { MasterDetail } from '../../components/master-detail.tsx';
import { Authorship, isPredefined, ManagedBadge } from './authorship.tsx';
import { BothChanges, Conflict } from './conflict.tsx';
import { RoleMeaning } from './role-meaning.tsx';
import { NewNamed } from './new-resource.tsx';

/** @param props.onDetach absent for callers who may not */
function RolePolicy(props: {
  policy: PolicySummary;
  fixed: boolean;
  onDetach: (() => Promise<void>) | undefined;
}): JSX.Element {
  const { name, description } = props.policy;
  return (
    <li>
      <PolicyLink policy={name} />{' '}
      <span class="muted">
        <Name text={description} />
      </span>
      {props.onDetach && (
        <BusyButton class="small" disabled={props.fixed} onPress={props.onDetach}>
          Detach
        </BusyButton>
      )}
    </li>
  );
}

function RolePolicies(props: { base: string; role: string; fixed: boolean; held: Data<PolicySummary[]> }): JSX.Element {
  const { base, role, fixed, held } = props;
  const may = useMayOn();
  const all = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  const { error, send } = useChange(held.reload);
  const attached = held.value ?? [];
  const others = (all.value ?? []).filter(({ srn }) => !attached.some((policy) => policy.srn === srn));
  const attach = (policySrn: string): Promise<boolean> => send(`${base}/attach-policy`, 'POST', { policySrn });
  const detach = async ({ srn, name }: PolicySummary): Promise<void> => {
    if (await send(`${base}/detach-policy`, 'POST', { policySrn: srn }))
      offerUndo(`The policy \`${name}\` was detached.`, () => attach(srn));
  };
  return (
    <section aria-labelledby="role-policies">
      <h3 id="role-policies">Policies</h3>
      <ErrorNote message={error ?? held.error} retry={held.reload} />
      <ul class="rows">
        {attached.map((policy) => (
          <RolePolicy
            key={policy.srn}
            policy={policy}
            fixed={fixed}
            onDetach={may('DetachPolicy', role) ? () => detach(policy) : undefined}
          />
        ))}
      </ul>
      {held.value?.length === 0 && <p class="muted">This role has no policies and allows nothing.</p>}
      {may('AttachPolicy', role) && (
        <Picker
          label="Policy"
          action="Attach"
          disabled={fixed}
          options={others.map(({ srn, name }) => ({ value: srn, label: visible(name) }))}
          onPick={attach}
        />
      )}
    </section>
  );
}

function RoleSubjects(props: { base: string; role: string; list: Data<Assignment[]> }): JSX.Element {
  const { base, role, list } = props;
  const may = useMayOn();
  const { error, send } = useChange(list.reload);
  const subjects = list.value ?? [];
  const body = subjects.map(({ subject, subjectType, expiresAt }) => ({ subject, subjectType, expiresAt }));
  const assign = (assignment: object): Promise<boolean> => send(`${base}/create-assignment`, 'POST', assignment);
  const revoke = async ({ subject, subjectType, expiresAt }: Assignment): Promise<void> => {
    if (await send(`${base}/delete-assignment`, 'POST', { subject, subjectType }))
      offerUndo(`\`${subject}\` lost the role \`${role}\`.`, () =>
        assign({ subject, subjectType, ...(expiresAt ? { expiresAt } : {}) }),
      );
  };
  return (
    <section aria-labelledby="role-subjects">
      <h3 id="role-subjects">Assigned to</h3>
      <ErrorNote message={error ?? list.error} retry={list.reload} />
      <ul class="rows">
        {subjects.map((one) => (
          <RoleSubject
            key={`${one.subjectType}/${one.subject}`}
            assignment={one}
            role={role}
            onRevoke={may('DeleteAssignment', role) ? () => revoke(one) : undefined}
          />
        ))}
      </ul>
      {list.value?.length === 0 && <p class="muted">No subjects have this role.</p>}
      {subjects.length > 0 && (
        <div class="row">
          <CopyAs
            call={{ method: 'PUT', path: `${base}/assignments`, body }}
            manifest={() => assignmentManifest(role, subjects)}
          />
        </div>
      )}
      {may('CreateAssignment', role) && <AssignRole role={role} onAssign={assign} />}
    </section>
  );
}

/** @param props.onRevoke absent for callers who may not */
function RoleSubject(props: {
  assignment: Assignment;
  role: string;
  onRevoke: (() => Promise<void>) | undefined;
}): JSX.Element {
  const { subject, subjectType, createdAt, expiresAt, managedBy } = props.assignment;
  return (
    <li>
      <span>
        <span class="muted">{subjectType}</span> <Name text={subject} />
      </span>
      <span class="muted">
        <When time={createdAt} inRow />
      </span>
      <Until time={expiresAt} />
      <ManagedBadge by={managedBy} />
      {props.onRevoke && (
        <DangerButton
          small
          label="Revoke"
          about={subject}
          consequence={`\`${subject}\` loses the role \`${props.role}\`.`}
          onConfirm={props.onRevoke}
        />
      )}
    </li>
  );
}

const NO_ASSIGNMENT = { subject: NO_SUBJECT, until: '' };

/** @param props.onAssign returns whether it succeeded; the fields are then cleared */
function AssignRole(props: { role: string; onAssign: (assignment: object) => Promise<boolean> }): JSX.Element {
  const [{ subject, until }, setInput, discard] = useDraftOr(`assign/${props.role}`, NO_ASSIGNMENT);
  const assign = async (): Promise<void> => {
    if (await props.onAssign({ ...subject, ...expiryOf(until) })) discard();
  };
  return (
    <Form class="columns">
      <SubjectFields value={subject} onChange={(changed) => setInput({ subject: changed, until })} />
      <UntilField value={until} onChange={(changed) => setInput({ subject, until: changed })} />
      <BusyButton type="submit" onPress={assign} disabled={subject.subject === ''}>
        Assign
      </BusyButton>
    </Form>
  );
}

interface RoleForm {
  readonly data: Data<Tagged<Role>>;
  readonly draft: VersionedDraft;
  readonly error: string | undefined;
  readonly save: (etag: string) => Promise<void>;
  readonly discard: () => void;
  readonly remove: () => Promise<void>;
}

function useRoleForm(path: string, name: string, onChanged: () => void): RoleForm {
  const data = useData(path, (signal) => callTagged<Role>(path, { signal }));
  const draft = useVersionedDraft(`role/${name}`);
  const { error, send, clearError } = useChange(() => {
    data.reload();
    onChanged();
  });
  const discard = (): void => {
    draft.discard();
    data.reload();
    clearError();
  };
  return {
    data,
    draft,
    error,
    discard,
    // After a 412, `useChange` loads the other version, which is then shown beside the input.
    save: async (etag) => {
      if (await send(path, 'PUT', draft.input, { 'if-match': etag })) discard();
    },
    remove: async () => {
      if (await send(path, 'DELETE')) setQuery({ name: undefined });
    },
  };
}

function RoleFields(props: { role: Tagged<Role>; form: RoleForm; conflict: boolean }): JSX.Element {
  const { role, form, conflict } = props;
  const { input, changed, base, set } = form.draft;
  const mayUpdate = useMayOn()('UpdateRole', role.name);
  return (
    <Form class="row">
      <label class="inline grow">
        <span>Description</span>
        <input
          readOnly={!mayUpdate}
          value={input['description'] ?? role.description ?? ''}
          onInput={(event) => set('description', event.currentTarget.value, versionOf(role))}
        />
      </label>
      {mayUpdate && (
        <BusyButton
          type="submit"
          onPress={() => form.save(base?.etag ?? role.etag)}
          disabled={isPredefined(role) || !changed || conflict}
        >
          Save
        </BusyButton>
      )}
      {changed && !conflict && (
        <button type="button" onClick={form.discard}>
          Discard changes
        </button>
      )}
    </Form>
  );
}

/** The description, and the conflict with what somebody else saved meanwhile. */
function RoleDescription(props: { role: Tagged<Role>; form: RoleForm }): JSX.Element {
  const { role, form } = props;
  const { input, base } = form.draft;
  const typed = input['description'];
  const conflict = base !== undefined && base.etag !== role.etag;
  return (
    <>
      <RoleFields role={role} form={form} conflict={conflict} />
      {conflict ? (
        <Conflict what="role" {...role} onKeepMine={() => form.save(role.etag)} onTakeTheirs={form.discard}>
          <BothChanges base={base.content} theirs={role.description} mine={typed ?? ''} />
        </Conflict>
      ) : (
        <ErrorNote message={form.error} />
      )}
    </>
  );
}

const versionOf = ({ etag, description }: Tagged<Role>): SavedVersion => ({ etag, content: description });

/** Maximum subjects that are named when a role is deleted. */
const MAX_NAMED = 5;

/** Who loses the role when it is deleted. */
function consequenceOf(role: string, subjects: readonly Assignment[] | undefined): string {
  if (subjects === undefined) return `Every subject loses the role \`${role}\`.`;
  if (subjects.length === 0) return 'No subject has this role.';
  const names = subjects.slice(0, MAX_NAMED).map(({ subject }) => `\`${subject}\``);
  const more = subjects.length - names.length;
  const who = subjects.length === 1 ? '1 subject loses' : `${whole(subjects.length)} subjects lose`;
  return `${who} \`${role}\`: ${names.join(', ')}${more > 0 ? ` and ${whole(more)} more` : ''}.`;
}

function RoleActions(props: {
  role: Role;
  policies: readonly PolicySummary[] | undefined;
  subjects: readonly Assignment[] | undefined;
  onDelete: () => Promise<void>;
}): JSX.Element {
  const { role, policies, subjects } = props;
  const may = useMayOn();
  const { name, description } = role;
  return (
    <footer class="row">
      {may('DeleteRole', name) && (
        <DangerButton
          label="Delete the role"
          consequence={consequenceOf(name, subjects)}
          typed={name}
          disabled={isPredefined(role)}
          onConfirm={props.onDelete}
        />
      )}
      <CopyAs
        call={{ method: 'POST', path: rbac('/roles'), body: { name, description } }}
        manifest={policies && (() => roleManifest(role, policies))}
      />
    </footer>
  );
}

function RoleDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const { name, onChanged } = props;
  const base = rbac(`/roles/${encodeSrn(`srn2:role#${name}`)}`);
  const form = useRoleForm(base, name, onChanged);
  const held = useData(`${base}/policies`, (signal) => call<PolicySummary[]>(`${base}/policies`, { signal }));
  const subjects = useData(`${base}/assignments`, (signal) => call<Assignment[]>(`${base}/assignments`, { signal }));
  return (
    <Loaded data={form.data} what="the role">
      {(role) => (
        <article class="card">
          <h2>
            <Name text={name} />
          </h2>
          <RoleMeaning policies={held.value} />
          <Authorship resource={role} />
          <LastUsedNote day={role.lastUsedAt} />
          <RoleDescription role={role} form={form} />
          <RolePolicies base={base} role={name} fixed={isPredefined(role)} held={held} />
          <RoleSubjects base={base} role={name} list={subjects} />
          <RoleActions role={role} policies={held.value} subjects={subjects.value} onDelete={form.remove} />
        </article>
      )}
    </Loaded>
  );
}

function LastUsedNote(props: { day: string | null | undefined }): JSX.Element | null {
  if (props.day === undefined) return null;
  return (
    <p class="muted">
      last used: <LastUsed day={props.day} />
    </p>
  );
}

export function RolesTab(): JSX.Element {
  const mayCreate = useSession().access['CreateRole'] !== undefined;
  const list = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  return (
    <MasterDetail
      what="Roles"
      one="role"
      list={list}
      item={({ name, description }) => ({ name, note: description })}
      renderNew={
        mayCreate
          ? (onDone) => <NewNamed title="New role" path="/roles" action="CreateRole" onDone={onDone} />
          : undefined
      }
      detail={(name) => <RoleDetail key={name} name={name} onChanged={list.reload} />}
    />
  );
}
