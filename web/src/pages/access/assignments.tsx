import type { JSX } from 'preact';
import { BusyButton, Form, LastUsed, Loading, Name, Until, When } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { NO_SUBJECT, SelectField, SubjectFields, UntilField } from '../../components/fields.tsx';
import { Table } from '../../components/table.tsx';
import { call, encodeSrn, rbac } from '../../lib/api.ts';
import { assignmentManifest } from '../../lib/copy.ts';
import { expiryOf, nameOf } from '../../lib/format.ts';
import { offerUndo } from '../../lib/notices.ts';
import { useLocation } from '../../lib/router.ts';
import { useMayOn, useSession } from '../../lib/session.ts';
import type { Role, RoleAssignment } from '../../lib/types.ts';
import { visible } from '../../lib/visible.ts';
import { useChange } from '../../lib/use-change.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { useData } from '../../lib/use-data.ts';
import { RoleLink } from '../../components/name-links.tsx';
import { ListEnd, MAX_SHOWN, Search } from '../../components/master-detail.tsx';
import { ManagedBadge } from './authorship.tsx';

const pathOf = (role: string, verb: 'create' | 'delete'): string =>
  rbac(`/roles/${encodeSrn(`srn2:role#${role}`)}/${verb}-assignment`);

const NO_ASSIGNMENT = { subject: NO_SUBJECT, role: '', until: '' };

function Assign(props: { onChanged: () => void }): JSX.Element {
  const roles = useData('roles', (signal) => call<Role[]>(rbac('/roles'), { signal }));
  const { error, send } = useChange(props.onChanged);
  const [input, setInput] = useDraftOr('assign', NO_ASSIGNMENT);
  const { subject, role, until } = input;
  const assign = async (): Promise<void> => {
    const body = { ...subject, ...expiryOf(until) };
    if (!(await send(pathOf(role, 'create'), 'POST', body))) return;
    // Further subjects often get the same role.
    setInput({ subject: { ...subject, subject: '' }, role, until: '' });
  };
  return (
    <>
      <Form class="columns">
        <SubjectFields value={subject} onChange={(changed) => setInput({ ...input, subject: changed })} />
        <SelectField
          label="Role"
          value={role}
          onChange={(changed) => setInput({ ...input, role: changed })}
          options={[
            { value: '', label: 'choose…' },
            ...(roles.value ?? []).map(({ name }) => ({ value: name, label: visible(name) })),
          ]}
        />
        <UntilField value={until} onChange={(changed) => setInput({ ...input, until: changed })} />
        <BusyButton class="primary" type="submit" onPress={assign} disabled={subject.subject === '' || role === ''}>
          Assign
        </BusyButton>
      </Form>
      <ErrorNote message={error ?? roles.error} retry={roles.reload} />
    </>
  );
}

interface AssignmentRowProps {
  assignment: RoleAssignment;
  /** Absent for callers who may not. */
  onRevoke: (() => Promise<void>) | undefined;
}

function AssignmentActions(props: AssignmentRowProps): JSX.Element {
  const { subject, subjectType, role, expiresAt } = props.assignment;
  const body = { subject, subjectType, ...(expiresAt ? { expiresAt } : {}) };
  return (
    <>
      <CopyAs
        row={`${role} of ${subject}`}
        call={{ method: 'POST', path: pathOf(role, 'create'), body }}
        manifest={() => assignmentManifest(role, [{ subject, subjectType, expiresAt }])}
      />{' '}
      {props.onRevoke && (
        <DangerButton
          small
          label="Revoke"
          about={`${role} from ${subject}`}
          consequence={`\`${subject}\` loses the role \`${role}\`.`}
          onConfirm={props.onRevoke}
        />
      )}
    </>
  );
}

function AssignmentRow(props: AssignmentRowProps): JSX.Element {
  const { subject, subjectType, role, createdAt, createdBy, expiresAt, lastUsedAt, managedBy } = props.assignment;
  return (
    <tr>
      <td class="wrap">
        <Name text={subject} /> <span class="muted together">{subjectType}</span>
      </td>
      <td class="wrap">
        <RoleLink role={role} />
      </td>
      <td>
        <When time={createdAt} inRow />
        <span class="below muted">
          {' '}
          by <Name text={nameOf(createdBy ?? '')} /> <ManagedBadge by={managedBy} />
        </span>
      </td>
      <td class="wrap">
        <Until time={expiresAt} />
      </td>
      <td>
        <LastUsed day={lastUsedAt} />
      </td>
      <td>
        <AssignmentActions {...props} />
      </td>
    </tr>
  );
}

const keyOf = ({ role, subjectType, subject }: RoleAssignment): string => `${role}/${subjectType}/${subject}`;

/** The assignments of all roles. */
export function AssignmentsTab(): JSX.Element {
  const may = useMayOn();
  const mayAssign = useSession().access['CreateAssignment'] !== undefined;
  const { query } = useLocation();
  const list = useData('assignments', (signal) => call<RoleAssignment[]>(rbac('/assignments'), { signal }));
  const { error, send } = useChange(list.reload);
  const wanted = (query.get('search') ?? '').toLowerCase();
  const shown = (list.value ?? []).filter(({ subject, subjectType, role }) =>
    `${subject} ${subjectType} ${role}`.toLowerCase().includes(wanted),
  );
  const revoke = async ({ role, subject, subjectType, expiresAt }: RoleAssignment): Promise<void> => {
    const body = { subject, subjectType, ...(expiresAt ? { expiresAt } : {}) };
    if (await send(pathOf(role, 'delete'), 'POST', { subject, subjectType }))
      offerUndo(`\`${subject}\` lost the role \`${role}\`.`, () => send(pathOf(role, 'create'), 'POST', body));
  };
  return (
    <section class="card" aria-label="Assignments">
      {mayAssign && <Assign onChanged={list.reload} />}
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
          {shown.slice(0, MAX_SHOWN).map((one) => {
            const onRevoke = may('DeleteAssignment', one.role) ? () => revoke(one) : undefined;
            return <AssignmentRow key={keyOf(one)} assignment={one} onRevoke={onRevoke} />;
          })}
        </Table>
      )}
      <ListEnd shown={shown.length} loaded={list.value !== undefined} />
    </section>
  );
}
