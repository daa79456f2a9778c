import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Badge, BusyButton, CopyButton, download, LastUsed, Name, Loading, When } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { RoleLink } from '../../components/name-links.tsx';
import { UntilPresets } from '../../components/until-presets.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NewDialog } from '../../components/new-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Picker, TextField, UntilField } from '../../components/fields.tsx';
import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { tokenManifest } from '../../lib/copy.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { offerUndo } from '../../lib/notices.ts';
import { setQuery } from '../../lib/router.ts';
import { useSession } from '../../lib/session.ts';
import type { NewServiceToken, Role, ServiceToken } from '../../lib/types.ts';
import { visible } from '../../lib/visible.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { MasterDetail } from '../../components/master-detail.tsx';
import { ManagedNote } from './authorship.tsx';

/** Shows the new token, which is not shown again. Escape does not close the dialog. */
export function CreatedToken(props: {
  token: NewServiceToken;
  /** Whether it has a role already. */
  assigned?: boolean;
  title?: string;
  onClose: () => void;
}): JSX.Element {
  const { token, onClose } = props;
  return (
    <Dialog title={props.title ?? 'New token'}>
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

const NO_TOKEN = { description: '', expires: '' };
const TOKEN_PRESETS = [{ days: 30 }, { days: 90 }, { days: 365 }] as const;

interface TokenInput {
  readonly description: string;
  /** Value of an UntilField. */
  readonly expires: string;
}

function TokenFields(props: { input: TokenInput; onChange: (input: TokenInput) => void }): JSX.Element {
  const { input, onChange } = props;
  const setExpires = (expires: string): void => onChange({ ...input, expires });
  return (
    <>
      <TextField
        label="Description"
        hint="Purpose of the token"
        required
        value={input.description}
        onChange={(description) => onChange({ ...input, description })}
      />
      <div class="until">
        <UntilField
          label="Expires"
          hint="Leave empty for a token that never expires"
          value={input.expires}
          onChange={setExpires}
        />
        <UntilPresets presets={TOKEN_PRESETS} onPick={setExpires} />
      </div>
    </>
  );
}

function NewToken(props: { onDone: (accessKey: string | undefined) => void }): JSX.Element {
  const [input, setInput, discard] = useDraftOr<TokenInput>('new-token', NO_TOKEN);
  const [created, setCreated] = useState<NewServiceToken>();
  const { error, attempt } = useChange();
  if (created) return <CreatedToken token={created} onClose={() => props.onDone(created.accessKey)} />;
  const close = (): void => {
    discard();
    props.onDone(undefined);
  };
  const create = async (): Promise<void> => {
    const body = { description: input.description, ...expiryOf(input.expires) };
    setCreated(await call<NewServiceToken>(rbac('/service-tokens'), { method: 'POST', body }));
    discard();
  };
  return (
    <NewDialog
      title="New service token"
      onClose={close}
      hasInput={input !== NO_TOKEN}
      complete={input.description !== ''}
      onCreate={() => attempt(create)}
      error={error}
    >
      <TokenFields input={input} onChange={setInput} />
    </NewDialog>
  );
}

const TONES = { ACTIVE: 'good', UNASSIGNED: 'warn', EXPIRED: 'bad' } as const;

type HeldRole = ServiceToken['roles'][number];

function HeldRoles(props: {
  roles: readonly HeldRole[];
  /** Whether it has further roles, which the user may not read. */
  omitted: boolean | undefined;
  onRevoke: (role: HeldRole) => Promise<void>;
}): JSX.Element {
  if (props.roles.length === 0 && props.omitted)
    return <p class="muted">It has roles whose assignments you may not read.</p>;
  if (props.roles.length === 0) return <p class="muted">No roles: the token is rejected until a role is assigned.</p>;
  return (
    <ul class="rows">
      {props.roles.map((role) => (
        <li key={role.srn}>
          <RoleLink role={role.name} />
          <DangerButton
            small
            label="Revoke"
            about={role.name}
            consequence={`The token loses the role \`${role.name}\`.`}
            onConfirm={() => props.onRevoke(role)}
          />
        </li>
      ))}
    </ul>
  );
}

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
  const revoke = async ({ srn, name }: HeldRole): Promise<void> => {
    if (await change(srn, 'delete')) offerUndo(`The token lost the role \`${name}\`.`, () => change(srn, 'create'));
  };
  const assign = async (role: string): Promise<boolean> => {
    const done = await change(role, 'create', expiryOf(until));
    if (done) setUntil('');
    return done;
  };
  return (
    <section aria-labelledby="token-roles">
      <h3 id="token-roles">Roles</h3>
      <HeldRoles roles={token.roles} omitted={token.rolesOmitted} onRevoke={revoke} />
      <ErrorNote message={error ?? all.error} retry={all.reload} />
      <Picker
        label="Role"
        action="Assign"
        disabled={token.accessKey === undefined}
        options={(all.value ?? [])
          .filter((role) => !token.roles.some((held) => held.srn === role.srn))
          .map(({ srn, name }) => ({ value: srn, label: visible(name) }))}
        onPick={assign}
      />
      <UntilField value={until} onChange={setUntil} />
    </section>
  );
}

/** Author, creation, expiry, rotation and last use. */
function TokenFacts(props: { token: ServiceToken }): JSX.Element {
  const { createdAt, createdBy, status, expiresAt, lastUsedAt, rotatedAt, formerSecrets } = props.token;
  return (
    <p class="muted">
      created <When time={createdAt} /> by <Name text={nameOf(createdBy)} /> ·{' '}
      {status === 'EXPIRED' ? 'expired' : 'expires'} <When time={expiresAt} />
      {lastUsedAt !== undefined && (
        <>
          {' '}
          · last used: <LastUsed day={lastUsedAt} />
        </>
      )}
      {rotatedAt !== undefined && (
        <>
          {' '}
          · rotated <When time={rotatedAt} />
        </>
      )}
      {formerSecrets?.map(({ validUntil }, index) => (
        <span key={index}>
          {' '}
          · a former secret is accepted until <When time={validUntil} />
        </span>
      ))}
    </p>
  );
}

/** How long programs may use the former secret, in seconds. */
const GRACE_PERIODS = [
  { value: '86400', label: 'for a day' },
  { value: '3600', label: 'for an hour' },
  { value: '0', label: 'no longer' },
] as const;

/** Replaces the secret, and shows the new one. */
function RotateToken(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token, onChanged } = props;
  const [open, setOpen] = useState(false);
  const [issued, setIssued] = useState<NewServiceToken>();
  const { error, attempt } = useChange();
  const close = (): void => {
    setOpen(false);
    setIssued(undefined);
    if (issued) onChanged();
  };
  const rotate = (graceSeconds: string): Promise<boolean> =>
    attempt(async () => {
      const path = rbac(`/service-tokens/${encodeSrn(token.srn)}/rotate`);
      setIssued(await call<NewServiceToken>(path, { method: 'POST', body: { graceSeconds: Number(graceSeconds) } }));
    });
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Rotate
      </button>
      {open && issued && <CreatedToken token={issued} assigned title="Rotated token" onClose={close} />}
      {open && !issued && (
        <Dialog title="Rotate token?" onClose={close}>
          <p>The token gets another secret, and keeps its roles. The secret that programs use now is accepted:</p>
          <div class="row">
            {GRACE_PERIODS.map(({ value, label }) => (
              <BusyButton key={value} onPress={async () => void (await rotate(value))}>
                {label}
              </BusyButton>
            ))}
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
          <ErrorNote message={error} />
        </Dialog>
      )}
    </>
  );
}

function TokenDetail(props: { token: ServiceToken; onChanged: () => void }): JSX.Element {
  const { token } = props;
  const { srn, accessKey, status, description, expiresAt } = token;
  const { error, send } = useChange(props.onChanged);
  const revoke = async (): Promise<void> => {
    if (await send(rbac(`/service-tokens/${encodeSrn(srn)}`), 'DELETE')) setQuery({ name: undefined });
  };
  return (
    <article class="card">
      <h2>
        <Name text={description || srn} /> <Badge tone={TONES[status]}>{status}</Badge>
      </h2>
      <p>
        <code>{accessKey ?? 'being created'}</code>
      </p>
      <TokenFacts token={token} />
      <ManagedNote by={token.managedBy} />
      <TokenRoles token={token} onChanged={props.onChanged} />
      <ErrorNote message={error} />
      <footer class="row">
        <RotateToken token={token} onChanged={props.onChanged} />
        <DangerButton
          label="Revoke token"
          consequence={`Every program that uses \`${description}\` is refused from now on.`}
          typed={accessKey ?? srn}
          onConfirm={revoke}
        />
        <CopyAs
          call={{ method: 'POST', path: rbac('/service-tokens'), body: { description, expiresAt } }}
          manifest={() => tokenManifest(token)}
        />
      </footer>
    </article>
  );
}

export function TokensTab(): JSX.Element {
  const mayCreate = useSession().access['CreateServiceToken'] !== undefined;
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
      item={(token) => ({
        name: nameOfToken(token),
        title: token.description || nameOfToken(token),
        note: token.accessKey,
      })}
      renderNew={mayCreate ? (onDone) => <NewToken onDone={onDone} /> : undefined}
      detail={detail}
    />
  );
}
