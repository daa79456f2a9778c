import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  BusyButton,
  DangerButton,
  ErrorNote,
  Form,
  LastUsed,
  Link,
  Loaded,
  Until,
  When,
} from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NO_SUBJECT, Picker, SubjectFields, UntilField } from '../../components/fields.tsx';
import { call, callTagged, encodeSrn, rbac } from '../../lib/api.ts';
import { expiryOf } from '../../lib/format.ts';
import { assignmentManifest, roleManifest } from '../../lib/copy.ts';
import { setQuery } from '../../lib/router.ts';
import type { Assignment, PolicySummary, Role } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData, type Data } from '../../lib/use-data.ts';
import { useDraft } from '../../lib/use-draft.ts';
import { Authorship, isPredefined, ManagedBadge, MasterDetail } from './master-detail.tsx';
import { BothChanges, Conflict } from './conflict.tsx';
import { RoleMeaning } from './role-meaning.tsx';
import { NewNamed } from './new-resource.tsx';

function RolePolicies(props: { base: string; fixed: boolean; held: Data<PolicySummary[]> }): JSX.Element {
  const { base, fixed, held } = props;
  const all = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  const { error, send } = useChange(held.reload);
  const names = new Set((held.value ?? []).map((policy) => policy.srn));
  return (
    <section aria-labelledby="role-policies">
      <h3 id="role-policies">Policies</h3>
      <ErrorNote message={error ?? held.error} />
      <ul class="rows">
        {(held.value ?? []).map((policy) => (
          <li key={policy.srn}>
            <Link to={`/access?tab=policies&name=${encodeURIComponent(policy.name)}`}>{policy.name}</Link>{' '}
            <span class="muted">{policy.description}</span>
            <BusyButton
              class="small"
              disabled={fixed}
              onPress={async () => {
                await send(`${base}/detach-policy`, 'POST', { policySrn: policy.srn });
              }}
            >
              Detach
            </BusyButton>
          </li>
        ))}
      </ul>
      {held.value?.length === 0 && <p class="muted">This role has no policies and allows nothing.</p>}
      <Picker
        label="Policy"
        action="Attach"
        disabled={fixed}
        options={(all.value ?? [])
          .filter((policy) => !names.has(policy.srn))
          .map(({ srn, name }) => ({ value: srn, label: name }))}
        onPick={(policySrn) => send(`${base}/attach-policy`, 'POST', { policySrn })}
      />
    </section>
  );
}

function RoleSubjects(props: { base: string; role: string }): JSX.Element {
  const { base, role } = props;
  const list = useData(`${base}/assignments`, (signal) => call<Assignment[]>(`${base}/assignments`, { signal }));
  const { error, send } = useChange(list.reload);
  const [subject, setSubject] = useState(NO_SUBJECT);
  const [until, setUntil] = useState('');
  const assign = async (): Promise<void> => {
    if (!(await send(`${base}/create-assignment`, 'POST', { ...subject, ...expiryOf(until) }))) return;
    setSubject({ ...subject, subject: '' });
    setUntil('');
  };
  return (
    <section aria-labelledby="role-subjects">
      <h3 id="role-subjects">Assigned to</h3>
      <ErrorNote message={error ?? list.error} />
      <ul class="rows">
        {(list.value ?? []).map(({ subject: name, subjectType, createdAt, expiresAt, managedBy }) => (
          <li key={`${subjectType}/${name}`}>
            <span>
              <span class="muted">{subjectType}</span> {name}
            </span>
            <span class="muted">
              <When time={createdAt} inRow />
            </span>
            <Until time={expiresAt} />
            <ManagedBadge by={managedBy} />
            <DangerButton
              small
              label="Revoke"
              about={name}
              onConfirm={async () => {
                await send(`${base}/delete-assignment`, 'POST', { subject: name, subjectType });
              }}
            />
          </li>
        ))}
      </ul>
      {list.value?.length === 0 && <p class="muted">No subjects have this role.</p>}
      {list.value !== undefined && list.value.length > 0 && (
        <div class="row">
          <CopyAs
            call={{
              method: 'PUT',
              path: `${base}/assignments`,
              body: list.value.map(({ subject: name, subjectType, expiresAt }) => ({
                subject: name,
                subjectType,
                expiresAt,
              })),
            }}
            manifest={() => assignmentManifest(role, list.value ?? [])}
          />
        </div>
      )}
      <Form class="columns">
        <SubjectFields value={subject} onChange={setSubject} />
        <UntilField value={until} onChange={setUntil} />
        <BusyButton type="submit" onPress={assign} disabled={subject.subject === ''}>
          Assign
        </BusyButton>
      </Form>
    </section>
  );
}

function RoleDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const base = rbac(`/roles/${encodeSrn(`srn2:role#${props.name}`)}`);
  const data = useData(base, (signal) => callTagged<Role>(base, { signal }));
  const held = useData(`${base}/policies`, (signal) => call<PolicySummary[]>(`${base}/policies`, { signal }));
  const { error, send, clearError } = useChange(() => {
    data.reload();
    props.onChanged();
  });
  const [description, setDescription] = useDraft(`role/${props.name}/description`);
  /** The version on which the unsaved input is based. */
  const [version, setVersion] = useDraft(`role/${props.name}/version`);
  const [began, setBegan] = useDraft(`role/${props.name}/base`);
  const discard = (): void => {
    setDescription(undefined);
    setVersion(undefined);
    setBegan(undefined);
    clearError();
  };
  // After a 412, `useChange` loads the other version, which is then shown beside the input.
  const save = async (etag: string): Promise<void> => {
    if (await send(base, 'PUT', { description: description ?? '' }, { 'if-match': etag })) discard();
  };
  return (
    <Loaded data={data} what="the role">
      {(role) => {
        const fixed = isPredefined(role);
        const conflict = description !== undefined && version !== undefined && version !== role.etag;
        return (
          <article class="card">
            <h2>{props.name}</h2>
            <RoleMeaning policies={held.value} />
            <Authorship resource={role} />
            {role.lastUsedAt !== undefined && (
              <p class="muted">
                last used: <LastUsed day={role.lastUsedAt} />
              </p>
            )}
            <Form class="row">
              <label class="inline grow">
                <span>Description</span>
                <input
                  value={description ?? role.description ?? ''}
                  onInput={(event) => {
                    setDescription(event.currentTarget.value);
                    if (version !== undefined) return;
                    setVersion(role.etag);
                    setBegan(role.description);
                  }}
                />
              </label>
              <BusyButton
                type="submit"
                onPress={() => save(version ?? role.etag)}
                disabled={fixed || description === undefined || conflict}
              >
                Save
              </BusyButton>
              {description !== undefined && !conflict && (
                <button
                  type="button"
                  onClick={() => {
                    discard();
                    data.reload();
                  }}
                >
                  Discard changes
                </button>
              )}
            </Form>
            {conflict ? (
              <Conflict what="role" {...role} onKeepMine={() => save(role.etag)} onTakeTheirs={discard}>
                <BothChanges base={began ?? ''} theirs={role.description} mine={description} />
              </Conflict>
            ) : (
              <ErrorNote message={error} />
            )}
            <RolePolicies base={base} fixed={fixed} held={held} />
            <RoleSubjects base={base} role={props.name} />
            <footer class="row">
              <DangerButton
                label="Delete the role"
                disabled={fixed}
                onConfirm={async () => {
                  if (await send(base, 'DELETE')) setQuery({ name: undefined });
                }}
              />
              <CopyAs
                call={{
                  method: 'POST',
                  path: rbac('/roles'),
                  body: { name: role.name, description: role.description },
                }}
                manifest={held.value && (() => roleManifest(role, held.value ?? []))}
              />
            </footer>
          </article>
        );
      }}
    </Loaded>
  );
}

export function RolesTab(): JSX.Element {
  const list = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  return (
    <MasterDetail
      what="Roles"
      one="role"
      list={list}
      item={({ name, description }) => ({ name, note: description })}
      renderNew={(onDone) => <NewNamed title="New role" path="/roles" onDone={onDone} />}
      detail={(name) => <RoleDetail key={name} name={name} onChanged={list.reload} />}
    />
  );
}
