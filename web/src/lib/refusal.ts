import type { Session, Subject } from './types.ts';

/** What a message of the gateway says that somebody may not do. */
export interface Refused {
  readonly action: string;
  /** Its SRN; undefined for the cluster. */
  readonly resource: string | undefined;
}

/** The text of the gateway for a decision against a caller. */
const REFUSED = /`srn2:[^`]+` may not `([^`]+)` on (?:the cluster|`([^`]+)`)/;

export function refusedIn(message: string): Refused | undefined {
  const found = REFUSED.exec(message);
  return found?.[1] === undefined ? undefined : { action: found[1], resource: found[2] };
}

/** What access to tables allows, from little to much. */
export type Level = 'read' | 'write' | 'manage';

/** The actions on a table that each level allows. */
export const LEVEL_ACTIONS: Readonly<Record<Level, readonly string[]>> = {
  read: ['Query', 'Get*'],
  write: ['Query', 'Get*', 'UploadSegment', 'ReplaceSegment', 'ReloadSegment', 'DeleteSegment', 'ForceCommit'],
  manage: ['*'],
};

/** The smallest level with an action. */
function levelOf(action: string): Level {
  if (action === 'Query' || action.startsWith('Get')) return 'read';
  return LEVEL_ACTIONS.write.includes(action) ? 'write' : 'manage';
}

/** The form that grants what was refused, filled in, as a path below /ui; undefined for what it cannot grant. */
export function grantPath({ action, resource = '' }: Refused, subject: Subject | undefined): string | undefined {
  const table = /^srn2:(?:cluster#[^:#]+:)?table#([^:#]+)$/.exec(resource)?.[1];
  if (table === undefined) return undefined;
  const { subjectType = '', subject: name = '' } = subject ?? {};
  return `/access?${new URLSearchParams({ tab: 'grant', subjectType, subject: name, table, level: levelOf(action) }).toString()}`;
}

/** What the person who is asked gets to read. @param origin of the dashboard, such as `https://olap.example.com` */
export function requestText(refused: Refused, { me, environment, cluster }: Session, origin: string): string {
  const { action, resource } = refused;
  const on =
    resource === undefined
      ? `the cluster ${cluster} in ${environment}`
      : `${resource} (cluster ${cluster} in ${environment})`;
  const path = grantPath(refused, me.subjects[0]);
  const where = path === undefined ? '' : ` This form grants it: ${origin}/ui${path}`;
  return `Please give me (${me.srn}) a role that allows ${action} on ${on}.${where}`;
}
