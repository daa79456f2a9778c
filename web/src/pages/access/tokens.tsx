import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  Badge,
  CopyButton,
  DangerButton,
  Dialog,
  download,
  ErrorNote,
  Link,
  Loading,
  When,
} from '../../components/basics.tsx';
import { Picker, TextField } from '../../components/fields.tsx';
import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { nameOf } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { NewServiceToken, Role, ServiceToken } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { ManagedNote, MasterDetail } from './master-detail.tsx';
import { NewDialog } from './new-resource.tsx';

/** The only time that anybody can see it: it goes when somebody says so, not by Escape. */
function MadeToken(props: { made: NewServiceToken; onClose: () => void }): JSX.Element {
  const { made, onClose } = props;
  return (
    <Dialog title="The new token">
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
        <button type="button" class="primary" onClick={onClose}>
          I have kept it
        </button>
      </div>
    </Dialog>
  );
}

function NewToken(props: { onDone: (accessKey: string | undefined) => void }): JSX.Element {
  const [description, setDescription] = useState('');
  const [expires, setExpires] = useState('');
  const [made, setMade] = useState<NewServiceToken>();
  const { error, attempt } = useChange();
  if (made) return <MadeToken made={made} onClose={() => props.onDone(made.accessKey)} />;
  return (
    <NewDialog
      title="New service token"
      onClose={() => props.onDone(undefined)}
      complete={description !== ''}
      onCreate={() =>
        attempt(async () => {
          const expiresAt = expires === '' ? {} : { expiresAt: new Date(expires).toISOString() };
          const body = { description, ...expiresAt };
          setMade(await call<NewServiceToken>(rbac('/service-tokens'), { method: 'POST', body }));
        })
      }
      error={error}
    >
      <TextField
        label="Description"
        hint="What the token is for"
        required
        value={description}
        onChange={setDescription}
      />
      <TextField
        label="Expires"
        hint="Never, where nothing is chosen"
        type="datetime-local"
        value={expires}
        onChange={setExpires}
      />
    </NewDialog>
  );
}

const TONES = { ACTIVE: 'good', UNASSIGNED: 'warn', EXPIRED: 'bad' } as const;

function TokenRoles(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token } = props;
  const all = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  const { error, send } = useChange(props.onChanged);
  const change = (role: string, verb: 'create' | 'delete'): Promise<boolean> =>
    send(rbac(`/roles/${encodeSrn(role)}/${verb}-assignment`), 'POST', {
      subject: token.accessKey,
      subjectType: 'service-token',
    });
  return (
    <section aria-labelledby="token-roles">
      <h3 id="token-roles">Roles</h3>
      {token.roles.length === 0 && <p class="muted">None yet: the token does not work.</p>}
      <ul class="rows">
        {token.roles.map((role) => (
          <li key={role.srn}>
            <Link to={`/access?tab=roles&name=${encodeURIComponent(role.name)}`}>{role.name}</Link>
            <DangerButton
              small
              label="Revoke"
              about={role.name}
              onConfirm={async () => {
                await change(role.srn, 'delete');
              }}
            />
          </li>
        ))}
      </ul>
      <ErrorNote message={error ?? all.error} />
      <Picker
        label="Role"
        action="Assign"
        disabled={token.accessKey === undefined}
        options={(all.value ?? [])
          .filter((role) => !token.roles.some((held) => held.srn === role.srn))
          .map(({ srn, name }) => ({ value: srn, label: name }))}
        onPick={(role) => change(role, 'create')}
      />
    </section>
  );
}

function TokenDetail(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token } = props;
  const { error, send } = useChange(props.onChanged);
  return (
    <article class="card">
      <h2>
        <code>{token.accessKey ?? 'being made'}</code> <Badge tone={TONES[token.status]}>{token.status}</Badge>
      </h2>
      <p>{token.description}</p>
      <p class="muted">
        made <When time={token.createdAt} /> by {nameOf(token.createdBy)} ·{' '}
        {token.status === 'EXPIRED' ? 'expired' : 'expires'} <When time={token.expiresAt} />
      </p>
      <ManagedNote by={token.managedBy} />
      <TokenRoles token={token} onChanged={props.onChanged} />
      <ErrorNote message={error} />
      <footer>
        <DangerButton
          label="Revoke the token"
          onConfirm={async () => {
            if (await send(rbac(`/service-tokens/${encodeSrn(token.srn)}`), 'DELETE')) setQuery({ name: undefined });
          }}
        />
      </footer>
    </article>
  );
}

export function TokensTab(): JSX.Element {
  const list = useData('tokens', (signal) => call<ServiceToken[]>(rbac('/service-tokens'), { signal }));
  const nameOfToken = (token: ServiceToken): string => token.accessKey ?? token.srn;
  const detail = (name: string): JSX.Element | null => {
    const token = list.value?.find((item) => nameOfToken(item) === name);
    if (token) return <TokenDetail key={token.srn} token={token} onChanged={list.reload} />;
    return list.loading ? <Loading what="the token" /> : <p class="muted">There is no such token.</p>;
  };
  return (
    <MasterDetail
      what="Service tokens"
      one="token"
      list={list}
      item={(token) => ({ name: nameOfToken(token), note: token.description })}
      make={(onDone) => <NewToken onDone={onDone} />}
      detail={detail}
    />
  );
}
