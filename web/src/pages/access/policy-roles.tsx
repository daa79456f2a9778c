import type { JSX } from 'preact';
import { Loading, Name } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { RoleLink } from '../../components/name-links.tsx';
import { call } from '../../lib/api.ts';
import { whole } from '../../lib/format.ts';
import type { Role } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';

/** Maximum listed roles. */
const MAX_ROLES = 50;

/** The roles that a change of the policy reaches. @param props.path of the policy */
export function PolicyRoles(props: { path: string }): JSX.Element {
  const roles = useData(`${props.path}/roles`, (signal) => call<Role[]>(`${props.path}/roles`, { signal }));
  const list = roles.value ?? [];
  return (
    <section aria-labelledby="policy-roles">
      <h3 id="policy-roles">Used by</h3>
      <ErrorNote message={roles.error} retry={roles.reload} />
      {roles.value === undefined && roles.error === undefined && <Loading what="the roles" />}
      {roles.value?.length === 0 && <p class="muted">No role that you may read has this policy.</p>}
      <ul class="rows">
        {list.slice(0, MAX_ROLES).map(({ name, description }) => (
          <li key={name}>
            <RoleLink role={name} />{' '}
            <span class="muted">
              <Name text={description} />
            </span>
          </li>
        ))}
      </ul>
      {list.length > MAX_ROLES && <p class="muted">and {whole(list.length - MAX_ROLES)} more roles</p>}
    </section>
  );
}
