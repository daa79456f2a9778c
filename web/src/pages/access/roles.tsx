import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, DangerButton, Dialog, ErrorNote, Field, Link, Loading, When } from '../../components/basics.tsx';
import { call, encodeSrn, messageOfError, rbac } from '../../lib/api.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { Assignment, PolicySummary, Role } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { Authorship, isPredefined, MasterDetail } from './master-detail.tsx';

function NewRole(props: { onDone: (name: string | undefined) => void }): JSX.Element {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [error, setError] = useState<string>();
  const create = async (): Promise<void> => {
    try {
      await call(rbac('/roles'), { method: 'POST', body: { name, description } });
      props.onDone(name);
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  return (
    <Dialog title="New role" onClose={() => props.onDone(undefined)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field label="Name" hint="Lower-case letters, digits, - and . ; it cannot be changed later">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Description">
          {(id) => <input id={id} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />}
        </Field>
        <ErrorNote message={error} />
        <BusyButton class="primary" type="submit" onPress={create} disabled={name === ''}>
          Create
        </BusyButton>
      </form>
    </Dialog>
  );
}

/** Runs a change, shows its error where it happened, and loads what changed again. */
function useChange(reload: () => void): {
  error: string | undefined;
  change: (path: string, method: 'POST' | 'PUT' | 'DELETE', body?: unknown) => Promise<boolean>;
} {
  const [error, setError] = useState<string>();
  const change = async (path: string, method: 'POST' | 'PUT' | 'DELETE', body?: unknown): Promise<boolean> => {
    try {
      await call(path, { method, ...(body === undefined ? {} : { body }) });
      setError(undefined);
      return true;
    } catch (failure) {
      setError(messageOfError(failure));
      return false;
    } finally {
      reload();
    }
  };
  return { error, change };
}

function RolePolicies(props: { base: string; fixed: boolean }): JSX.Element {
  const held = useData(`${props.base}/policies`, (signal) =>
    call<PolicySummary[]>(`${props.base}/policies`, { signal }),
  );
  const all = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  const { error, change } = useChange(held.reload);
  const [pick, setPick] = useState('');
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
              disabled={props.fixed}
              onPress={async () => {
                await change(`${props.base}/detach-policy`, 'POST', { policySrn: policy.srn });
              }}
            >
              Detach
            </BusyButton>
          </li>
        ))}
      </ul>
      {held.value?.length === 0 && <p class="muted">This role holds no policy: it allows nothing.</p>}
      <div class="row">
        <label class="inline">
          <span>Policy</span>
          <select value={pick} onChange={(event) => setPick(event.currentTarget.value)}>
            <option value="">choose…</option>
            {(all.value ?? [])
              .filter((policy) => !names.has(policy.srn))
              .map((policy) => (
                <option key={policy.srn} value={policy.srn}>
                  {policy.name}
                </option>
              ))}
          </select>
        </label>
        <BusyButton
          disabled={props.fixed || pick === ''}
          onPress={async () => {
            if (await change(`${props.base}/attach-policy`, 'POST', { policySrn: pick })) setPick('');
          }}
        >
          Attach
        </BusyButton>
      </div>
    </section>
  );
}

function RoleSubjects(props: { base: string }): JSX.Element {
  const list = useData(`${props.base}/assignments`, (signal) =>
    call<Assignment[]>(`${props.base}/assignments`, { signal }),
  );
  const { error, change } = useChange(list.reload);
  const [type, setType] = useState('user-email');
  const [subject, setSubject] = useState('');
  return (
    <section aria-labelledby="role-subjects">
      <h3 id="role-subjects">Assigned to</h3>
      <ErrorNote message={error ?? list.error} />
      <ul class="rows">
        {(list.value ?? []).map((assignment) => (
          <li key={`${assignment.subjectType}/${assignment.subject}`}>
            <span>
              <span class="muted">{assignment.subjectType}</span> {assignment.subject}
            </span>
            <span class="muted">
              since <When time={assignment.createdAt} />
            </span>
            <DangerButton
              small
              label="Revoke"
              about={assignment.subject}
              onConfirm={async () => {
                await change(`${props.base}/delete-assignment`, 'POST', {
                  subject: assignment.subject,
                  subjectType: assignment.subjectType,
                });
              }}
            />
          </li>
        ))}
      </ul>
      {list.value?.length === 0 && <p class="muted">Nobody has this role.</p>}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void change(`${props.base}/create-assignment`, 'POST', { subject, subjectType: type }).then(
            (done) => done && setSubject(''),
          );
        }}
      >
        <label class="inline">
          <span>Subject is</span>
          <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
            <option value="user-email">user</option>
            <option value="group">group</option>
            <option value="domain">e-mail domain</option>
            <option value="service-token">service token</option>
          </select>
        </label>
        <label class="inline">
          <span>Subject</span>
          <input required value={subject} onInput={(event) => setSubject(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={subject === ''}>
          Assign
        </button>
      </form>
    </section>
  );
}

function RoleDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const base = rbac(`/roles/${encodeSrn(`srn2:role#${props.name}`)}`);
  const data = useData(base, (signal) => call<Role>(base, { signal }));
  const { error, change } = useChange(() => {
    data.reload();
    props.onChanged();
  });
  const [description, setDescription] = useState<string>();
  if (!data.value)
    return data.error === undefined ? (
      <Loading what="the role" />
    ) : (
      <ErrorNote message={data.error} retry={data.reload} />
    );
  const fixed = isPredefined(data.value);
  return (
    <article class="card" key={props.name}>
      <h2>{props.name}</h2>
      <Authorship resource={data.value} />
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void change(base, 'PUT', { description: description ?? '' }).then(
            (done) => done && setDescription(undefined),
          );
        }}
      >
        <label class="inline grow">
          <span>Description</span>
          <input
            value={description ?? data.value.description ?? ''}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={fixed || description === undefined}>
          Save
        </button>
      </form>
      <ErrorNote message={error} />
      <RolePolicies base={base} fixed={fixed} />
      <RoleSubjects base={base} />
      <footer>
        <DangerButton
          label="Delete the role"
          disabled={fixed}
          onConfirm={async () => {
            if (await change(base, 'DELETE')) setQuery({ name: undefined });
          }}
        />
      </footer>
    </article>
  );
}

export function RolesTab(): JSX.Element {
  const { query } = useLocation();
  const chosen = query.get('name') ?? undefined;
  const list = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  const [adding, setAdding] = useState(false);
  return (
    <MasterDetail
      what="Roles"
      items={list.value?.map((role) => ({ name: role.name, note: role.description }))}
      error={list.error}
      reload={list.reload}
      search={query.get('search') ?? ''}
      chosen={chosen}
      actions={
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          New role
        </button>
      }
    >
      {chosen === undefined ? (
        <p class="muted">Choose a role, or make one.</p>
      ) : (
        <RoleDetail key={chosen} name={chosen} onChanged={list.reload} />
      )}
      {adding && (
        <NewRole
          onDone={(name) => {
            setAdding(false);
            if (name !== undefined) {
              list.reload();
              setQuery({ name });
            }
          }}
        />
      )}
    </MasterDetail>
  );
}
