// The tables and instances that findings and their messages name.
import type { Finding } from './types.ts';

/** The id of an instance, also in backticks, or a name in backticks behind the word `table`. */
const NAMED =
  /(?<=\btables? )`(?<table>[^`\n]+)`|`(?<quoted>(?:Server|Broker|Controller|Minion)_[\w.-]*\w)`|(?<bare>\b(?:Server|Broker|Controller|Minion)_[\w.-]*\w)/g;

const INSTANCE_KINDS = new Set(['server', 'broker', 'controller', 'instance', 'minion']);

/** The name without the type, so that both tables of a hybrid table match. */
export const tableOf = (entity: string): string => entity.replace(/_(?:OFFLINE|REALTIME)$/, '');

export interface Entity {
  readonly kind: 'table' | 'instance';
  readonly name: string;
}

/** A text in parts: the entities that it names, and what is between them. */
export function partsOf(text: string): (string | Entity)[] {
  const parts: (string | Entity)[] = [];
  let from = 0;
  for (const { 0: match, index, groups: { table, quoted, bare } = {} } of text.matchAll(NAMED)) {
    const entity: Entity =
      table === undefined ? { kind: 'instance', name: quoted ?? bare ?? '' } : { kind: 'table', name: table };
    parts.push(text.slice(from, index), entity);
    from = index + match.length;
  }
  return [...parts, text.slice(from)];
}

/** The entities that a text names. */
export const entitiesIn = (text: string): Entity[] => partsOf(text).filter((part) => typeof part !== 'string');

/** The table or the instance that a finding is about; undefined for others, such as a segment. */
export function entityOf({ entityType, entity }: Pick<Finding, 'entityType' | 'entity'>): Entity | undefined {
  const kind = entityType.toLowerCase();
  if (kind === 'table') return { kind, name: entity };
  return INSTANCE_KINDS.has(kind) ? { kind: 'instance', name: entity } : undefined;
}
