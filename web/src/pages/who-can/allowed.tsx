import type { JSX } from 'preact';
import { Name, Until } from '../../components/basics.tsx';
import { PolicyLink, RoleLink } from '../../components/name-links.tsx';
import { Table } from '../../components/table.tsx';
import type { WhoCan } from '../../lib/types.ts';

/** Absent where the caller may not read it. */
function ReadablePolicy(props: { policy: string | undefined }): JSX.Element {
  return props.policy === undefined ? <span class="muted">not readable</span> : <PolicyLink policy={props.policy} />;
}

function statementOf({ statementIndex, conditional }: WhoCan['roles'][number]): string {
  const position = statementIndex === undefined ? '' : String(statementIndex + 1);
  return conditional === true ? `${position}, for a part of the table` : position;
}

/** The roles that allow it. */
export function AllowingRoles(props: { roles: WhoCan['roles']; total: number }): JSX.Element {
  if (props.total === 0) return <p class="muted">No role allows it.</p>;
  return (
    <Table label="Roles that allow it" columns={['Role', 'By policy', 'Statement']}>
      {props.roles.map((row) => (
        <tr key={row.role}>
          <td>
            <RoleLink role={row.role} />
          </td>
          <td>
            <ReadablePolicy policy={row.policy} />
          </td>
          <td>{statementOf(row)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Who may do it, by which role. */
export function AllowedSubjects(props: { subjects: WhoCan['subjects'] }): JSX.Element {
  if (props.subjects.length === 0) return <p class="muted">No subject with a role may do it.</p>;
  return (
    <Table label="Who may do it" columns={['Subject', 'Kind', 'By role', 'By policy', 'Statement', 'Until']}>
      {props.subjects.map((row) => (
        <tr key={`${row.subjectType}/${row.subject}/${row.role}`}>
          <td class="wrap">
            <Name text={row.subject} />{' '}
            {row.description !== undefined && (
              <span class="muted">
                <Name text={row.description} />
              </span>
            )}
          </td>
          <td>{row.subjectType}</td>
          <td>
            <RoleLink role={row.role} />
          </td>
          <td>
            <ReadablePolicy policy={row.policy} />
          </td>
          <td>{statementOf(row)}</td>
          <td>
            <Until time={row.expiresAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
