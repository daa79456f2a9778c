import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  Badge,
  BusyButton,
  CopyButton,
  DangerButton,
  Dialog,
  download,
  ErrorNote,
  Field,
  Link,
  Loading,
  When,
} from '../../components/basics.tsx';
import { call, encodeSrn, messageOfError, rbac } from '../../lib/api.ts';
import { nameOf } from '../../lib/format.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { NewServiceToken, Role, ServiceToken } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { MasterDetail } from './master-detail.tsx';

/** Makes a token and shows it: the only time that anybody can see it. */
function NewToken(props: { onDone: (accessKey: string | undefined) => void }): JSX.Element {
  const [description, setDescription] = useState('');
  const [expires, setExpires] = useState('');
  const [made, setMade] = useState<NewServiceToken>();
  const [error, setError] = useState<string>();
  const create = async (): Promise<void> => {
    try {
      const expiresAt = expires === '' ? {} : { expiresAt: new Date(expires).toISOString() };
      setMade(
        await call<NewServiceToken>(rbac('/service-tokens'), { method: 'POST', body: { description, ...expiresAt } }),
      );
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  if (made) {
    return (
      <Dialog title="The new token" onClose={() => props.onDone(made.accessKey)}>
        <p>Copy it now: it is shown only this once. It works as soon as a role is assigned to it.</p>
        <pre class="secret">{made.bearerToken}</pre>
        <div class="row">
          <CopyButton text={made.bearerToken} label="Copy the token" />
          <button
            type="button"
            class="small"
            onClick={() => download(`${made.accessKey}.txt`, 'text/plain', `${made.bearerToken}\n`)}
          >
            Download
          </button>
          <button type="button" class="primary" onClick={() => props.onDone(made.accessKey)}>
            I have kept it
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New service token" onClose={() => props.onDone(undefined)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field label="Description" hint="What the token is for">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              value={description}
              onInput={(event) => setDescription(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Expires" hint="Never, where nothing is chosen">
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              type="datetime-local"
              value={expires}
              onInput={(event) => setExpires(event.currentTarget.value)}
            />
          )}
        </Field>
        <ErrorNote message={error} />
        <BusyButton class="primary" type="submit" onPress={create} disabled={description === ''}>
          Create
        </BusyButton>
      </form>
    </Dialog>
  );
}

const TONES = { ACTIVE: 'good', UNASSIGNED: 'warn', EXPIRED: 'bad' } as const;

function TokenRoles(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token, onChanged } = props;
  const all = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  const [pick, setPick] = useState('');
  const [error, setError] = useState<string>();
  const change = async (role: string, verb: 'create' | 'delete'): Promise<void> => {
    const body = { subject: token.accessKey, subjectType: 'service-token' };
    try {
      await call(rbac(`/roles/${encodeSrn(role)}/${verb}-assignment`), { method: 'POST', body });
      setError(undefined);
      setPick('');
    } catch (failure) {
      setError(messageOfError(failure));
    }
    onChanged();
  };
  return (
    <section aria-labelledby="token-roles">
      <h3 id="token-roles">Roles</h3>
      {token.roles.length === 0 && <p class="muted">None yet: the token does not work.</p>}
      <ul class="rows">
        {token.roles.map((role) => (
          <li key={role.srn}>
            <Link to={`/access?tab=roles&name=${encodeURIComponent(role.name)}`}>{role.name}</Link>
            <DangerButton small label="Revoke" about={role.name} onConfirm={() => change(role.srn, 'delete')} />
          </li>
        ))}
      </ul>
      <ErrorNote message={error ?? all.error} />
      <div class="row">
        <label class="inline">
          <span>Role</span>
          <select value={pick} onChange={(event) => setPick(event.currentTarget.value)}>
            <option value="">choose…</option>
            {(all.value ?? [])
              .filter((role) => !token.roles.some((held) => held.srn === role.srn))
              .map((role) => (
                <option key={role.srn} value={role.srn}>
                  {role.name}
                </option>
              ))}
          </select>
        </label>
        <BusyButton disabled={pick === '' || token.accessKey === undefined} onPress={() => change(pick, 'create')}>
          Assign
        </BusyButton>
      </div>
    </section>
  );
}

function TokenDetail(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token } = props;
  const [error, setError] = useState<string>();
  return (
    <article class="card">
      <h2>
        <code>{token.accessKey ?? 'being made'}</code> <Badge tone={TONES[token.status]}>{token.status}</Badge>
      </h2>
      <p>{token.description}</p>
      <p class="muted">
        made <When time={token.createdAt} /> by {nameOf(token.createdBy)} · expires <When time={token.expiresAt} />
      </p>
      <TokenRoles token={token} onChanged={props.onChanged} />
      <ErrorNote message={error} />
      <footer>
        <DangerButton
          label="Revoke the token"
          onConfirm={async () => {
            try {
              await call(rbac(`/service-tokens/${encodeSrn(token.srn)}`), { method: 'DELETE' });
              setQuery({ name: undefined });
            } catch (failure) {
              setError(messageOfError(failure));
            }
            props.onChanged();
          }}
        />
      </footer>
    </article>
  );
}

export function TokensTab(): JSX.Element {
  const { query } = useLocation();
  const chosen = query.get('name') ?? undefined;
  const list = useData('tokens', (signal) => call<ServiceToken[]>(rbac('/service-tokens'), { signal }));
  const [adding, setAdding] = useState(false);
  const token = list.value?.find((item) => (item.accessKey ?? item.srn) === chosen);
  return (
    <MasterDetail
      what="Service tokens"
      items={list.value?.map((item) => ({ name: item.accessKey ?? item.srn, note: item.description }))}
      error={list.error}
      reload={list.reload}
      search={query.get('search') ?? ''}
      chosen={chosen}
      actions={
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          New token
        </button>
      }
    >
      {chosen === undefined && <p class="muted">Choose a token, or make one.</p>}
      {chosen !== undefined && !token && list.loading && <Loading what="the token" />}
      {token && <TokenDetail key={token.srn} token={token} onChanged={list.reload} />}
      {adding && (
        <NewToken
          onDone={(accessKey) => {
            setAdding(false);
            list.reload();
            if (accessKey !== undefined) setQuery({ name: accessKey });
          }}
        />
      )}
    </MasterDetail>
  );
}
