import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  Badge,
  CopyButton,
  DangerButton,
  download,
  ErrorNote,
  LastUsed,
  Link,
  Loading,
  When,
} from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NewDialog } from '../../components/new-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Picker, TextField, UntilField } from '../../components/fields.tsx';
import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { tokenManifest } from '../../lib/copy.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { NewServiceToken, Role, ServiceToken } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { ManagedNote, MasterDetail } from './master-detail.tsx';

/** Shows the new token, which is not shown again. Escape does not close the dialog. */
export function CreatedToken(props: {
  token: NewServiceToken;
  /** Whether it has a role already. */
  assigned?: boolean;
  onClose: () => void;
}): JSX.Element {
  const { token, onClose } = props;
  return (
    <Dialog title="New token">
      <p>Copy the token now: it is not shown again.{!props.assigned && ' Assign a role to it before use.'}</p>
      <pre class="secret">{token.bearerToken}</pre>
      <div class="row">
        <CopyButton text={token.bearerToken} label="Copy token" />
        <button
          type="button"
          class="small"
          onClick={() => download(`${token.accessKey}.txt`, 'text/plain', `${token.bearerToken}\n`)}
        >
          Download
        </button>
        <button type="button" class="primary" onClick={onClose}>
          I have saved it
        </button>
      </div>
    </Dialog>
  );
}

function NewToken(props: { onDone: (accessKey: string | undefined) => void }): JSX.Element {
  const [description, setDescription] = useState('');
  const [expires, setExpires] = useState('');
  const [created, setCreated] = useState<NewServiceToken>();
  const { error, attempt } = useChange();
  if (created) return <CreatedToken token={created} onClose={() => props.onDone(created.accessKey)} />;
  return (
    <NewDialog
      title="New service token"
      onClose={() => props.onDone(undefined)}
      complete={description !== ''}
      onCreate={() =>
        attempt(async () => {
          const expiresAt = expires === '' ? {} : { expiresAt: new Date(expires).toISOString() };
          const body = { description, ...expiresAt };
          setCreated(await call<NewServiceToken>(rbac('/service-tokens'), { method: 'POST', body }));
        })
      }
      error={error}
    >
      <TextField
        label="Description"
        hint="Purpose of the token"
        required
        value={description}
        onChange={setDescription}
      />
      <TextField
        label="Expires"
        hint="Leave empty for a token that never expires"
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
  const [until, setUntil] = useState('');
  const change = (role: string, verb: 'create' | 'delete', expiry: { expiresAt?: string } = {}): Promise<boolean> =>
    send(rbac(`/roles/${encodeSrn(role)}/${verb}-assignment`), 'POST', {
      subject: token.accessKey,
      subjectType: 'service-token',
      ...expiry,
    });
  const assign = async (role: string): Promise<boolean> => {
    const done = await change(role, 'create', expiryOf(until));
    if (done) setUntil('');
    return done;
  };
  return (
    <section aria-labelledby="token-roles">
      <h3 id="token-roles">Roles</h3>
      {token.roles.length === 0 && <p class="muted">No roles: the token is rejected until a role is assigned.</p>}
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
        onPick={assign}
      />
      <UntilField value={until} onChange={setUntil} />
    </section>
  );
}

function TokenDetail(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token } = props;
  const { error, send } = useChange(props.onChanged);
  return (
    <article class="card">
      <h2>
        <code>{token.accessKey ?? 'being created'}</code> <Badge tone={TONES[token.status]}>{token.status}</Badge>
      </h2>
      <p>{token.description}</p>
      <p class="muted">
        created <When time={token.createdAt} /> by {nameOf(token.createdBy)} ·{' '}
        {token.status === 'EXPIRED' ? 'expired' : 'expires'} <When time={token.expiresAt} />
        {token.lastUsedAt !== undefined && (
          <>
            {' '}
            · last used: <LastUsed day={token.lastUsedAt} />
          </>
        )}
      </p>
      <ManagedNote by={token.managedBy} />
      <TokenRoles token={token} onChanged={props.onChanged} />
      <ErrorNote message={error} />
      <footer class="row">
        <DangerButton
          label="Revoke token"
          onConfirm={async () => {
            if (await send(rbac(`/service-tokens/${encodeSrn(token.srn)}`), 'DELETE')) setQuery({ name: undefined });
          }}
        />
        <CopyAs
          call={{
            method: 'POST',
            path: rbac('/service-tokens'),
            body: { description: token.description, expiresAt: token.expiresAt },
          }}
          manifest={() => tokenManifest(token)}
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
    return list.loading ? <Loading what="the token" /> : <p class="muted">Token not found.</p>;
  };
  return (
    <MasterDetail
      what="Service tokens"
      one="token"
      list={list}
      item={(token) => ({ name: nameOfToken(token), note: token.description })}
      renderNew={(onDone) => <NewToken onDone={onDone} />}
      detail={detail}
    />
  );
}
