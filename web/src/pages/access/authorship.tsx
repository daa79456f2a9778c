import type { JSX } from 'preact';
import { Badge, Name, When } from '../../components/basics.tsx';
import { nameOf } from '../../lib/format.ts';
import type { Authored } from '../../lib/types.ts';

/** Whether the role or policy is predefined. Predefined ones cannot be changed. */
export const isPredefined = (resource: Authored): boolean => resource.createdBy === 'platform-rbac-manager';

/** Warning for a resource that is also managed by other tools. */
export function ManagedNote(props: { by: readonly string[] | undefined }): JSX.Element | null {
  if (!props.by || props.by.length === 0) return null;
  return (
    <div class="note note-warn" role="note">
      This resource is managed by {props.by.join(', ')}, which may revert changes made here. Change it at its source
      instead.
    </div>
  );
}

/** The warning as a badge, for a row of a list. */
export function ManagedBadge(props: { by: readonly string[] | undefined }): JSX.Element | null {
  if (!props.by || props.by.length === 0) return null;
  return (
    <span title="Changes made here may be reverted by the managing tool.">
      <Badge tone="warn">managed by {props.by.join(', ')}</Badge>
    </span>
  );
}

/** Author and time of creation and last change, and other managers of the resource. */
export function Authorship(props: { resource: Authored }): JSX.Element {
  const { resource } = props;
  return (
    <>
      <p class="muted">
        created <When time={resource.createdAt} /> by <Name text={nameOf(resource.createdBy)} /> · changed{' '}
        <When time={resource.lastUpdatedAt} /> by <Name text={nameOf(resource.lastUpdatedBy)} />
      </p>
      {isPredefined(resource) && <p class="muted">Predefined: it can be assigned and attached, but not changed.</p>}
      <ManagedNote by={resource.managedBy} />
    </>
  );
}
