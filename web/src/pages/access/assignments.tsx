import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  BusyButton,
  DangerButton,
  ErrorNote,
  Form,
  LastUsed,
  Link,
  Loading,
  Name,
  Until,
  When,
} from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NO_SUBJECT, SelectField, SubjectFields, UntilField } from '../../components/fields.tsx';
import { Table } from '../../components/table.tsx';
import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { assignmentManifest } from '../../lib/copy.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { useLocation } from '../../lib/router.ts';
import type { Role, RoleAssignment } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { ListEnd, ManagedBadge, MAX_SHOWN, Search } from './master-detail.tsx';

const pathOf = (role: string, verb: 'create' | 'delete'): string =>
  rbac(`/roles/${encodeSrn(`srn2:role#${role}`)}/${verb}-assignment`);

function Assign(props: { onChanged: () => void }): JSX.Element {
  const roles = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  const { error, send } = useChange(props.onChanged);
  const [subject, setSubject] = useState(NO_SUBJECT);
  const [role, setRole] = useState('');
  const [until, setUntil] = useState('');
  const assign = async (): Promise<void> => {
    const body = { ...subject, ...expiryOf(until) };
    if (!(await send(pathOf(role, 'create'), 'POST', body))) return;
    setSubject({ ...subject, subject: '' });
    setUntil('');
  };
  return (
    <>
      <Form class="columns">
        <SubjectFields value={subject} onChange={setSubject} />
        <SelectField
          label="Role"
          value={role}
          onChange={setRole}
          options={[
            { value: '', label: 'choose…' },
            ...(roles.value ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
        <UntilField value={until} onChange={setUntil} />
        <BusyButton class="primary" type="submit" onPress={assign} disabled={subject.subject === '' || role === ''}>
          Assign
        </BusyButton>
      </Form>
      <ErrorNote message={error ?? roles.error} />
    </>
  );
}

/** The assignments of all roles. */
export function AssignmentsTab(): JSX.Element {
  const { query } = useLocation();
  const list = useData('assignments', (signal) => call<RoleAssignment[]>(rbac('/assignments'), { signal }));
  const { error, send } = useChange(list.reload);
  const wanted = (query.get('search') ?? '').toLowerCase();
  const shown = (list.value ?? []).filter(({ subject, subjectType, role }) =>
    `${subject} ${subjectType} ${role}`.toLowerCase().includes(wanted),
  );
  return (
    <section class="card" aria-label="Assignments">
      <Assign onChanged={list.reload} />
      <div class="row search">
        <Search what="Assignments" />
      </div>
      <ErrorNote message={error ?? list.error} retry={list.reload} />
      {list.value === undefined && list.error === undefined && <Loading what="assignments" />}
      {shown.length > 0 && (
        <Table
          label="Who has which role"
          columns={['Subject', 'Role', 'Since', 'Until', 'Last used', '(Copy or revoke)']}
        >
          {shown.slice(0, MAX_SHOWN).map(({ subject, subjectType, role, createdAt, createdBy, ...rest }) => (
            <tr key={`${role}/${subjectType}/${subject}`}>
              <td class="wrap">
                <Name text={subject} /> <span class="muted together">{subjectType}</span>
              </td>
              <td class="wrap">
                <Link to={`/access?tab=roles&name=${encodeURIComponent(role)}`}>
                  <Name text={role} />
                </Link>
              </td>
              <td>
                <When time={createdAt} inRow />
                <span class="below muted">
                  {' '}
                  by {nameOf(createdBy ?? '')} <ManagedBadge by={rest.managedBy} />
                </span>
              </td>
              <td class="wrap">
                <Until time={rest.expiresAt} />
              </td>
              <td>
                <LastUsed day={rest.lastUsedAt} />
              </td>
              <td>
                <CopyAs
                  row={`${role} of ${subject}`}
                  call={{
                    method: 'POST',
                    path: pathOf(role, 'create'),
                    body: { subject, subjectType, ...(rest.expiresAt ? { expiresAt: rest.expiresAt } : {}) },
                  }}
                  manifest={() => assignmentManifest(role, [{ subject, subjectType, expiresAt: rest.expiresAt }])}
                />{' '}
                <DangerButton
                  small
                  label="Revoke"
                  about={`${role} from ${subject}`}
                  onConfirm={async () => {
                    await send(pathOf(role, 'delete'), 'POST', { subject, subjectType });
                  }}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <ListEnd shown={shown.length} loaded={list.value !== undefined} />
    </section>
  );
}
