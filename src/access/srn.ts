/** One level of a resource name. */
export interface SrnLevel {
  readonly kind: string;
  readonly id: string;
}

/** A resource name, `srn2:<kind>#<id>` with levels chained by `:`, outermost first: `srn2:cluster#pinot:table#events`. */
export interface Srn {
  readonly levels: readonly SrnLevel[];
}

export const SRN_KINDS = ['environment', 'cluster', 'table', 'role', 'policy', 'service-token', 'user'] as const;
export type SrnKind = (typeof SRN_KINDS)[number];

const PREFIX = 'srn2:';

export function formatSrn(srn: Srn): string {
  return PREFIX + srn.levels.map((level) => `${level.kind}#${level.id}`).join(':');
}

/** `srn2:<kind>#<id>` of one level, as text. */
export function srnText(kind: SrnKind, id: string): string {
  return `${PREFIX}${kind}#${id}`;
}

function one(kind: SrnKind, id: string): Srn {
  return { levels: [{ kind, id }] };
}

export const roleResource = (name: string): Srn => one('role', name);
export const policyResource = (name: string): Srn => one('policy', name);
export const serviceTokenResource = (name: string): Srn => one('service-token', name);
/** A table by its raw name: no database prefix, no type suffix. */
export const tableResource = (name: string): Srn => one('table', name);
/** The cluster that this deployment fronts. The authorizer completes outer levels itself. */
export const clusterResource: Srn = { levels: [] };
