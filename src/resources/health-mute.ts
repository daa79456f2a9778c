import { Type, type Static } from 'typebox';
import { compileGlob, globMatches } from '../platform/glob.ts';

/** Limit of mutes in a report. */
export const MAX_MUTES = 100;

/** Ids of mutes: a DNS label. */
export const MUTE_ID_PATTERN = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
/** `*`, or a name of a check in which `*` stands for any characters. */
export const CHECK_GLOB_PATTERN = '^([*]|[*]*[A-Z0-9_][A-Z0-9_*]*)$';
/** `*`, or one line with another character than `*`. */
export const ENTITY_GLOB_PATTERN = '^([*]|[*]*[^*\\r\\n][^\\r\\n]*)$';

/** The end of the name of each check: a pattern that matches it matches every check. */
const CHECK_END = '_CHECK';
/** Patterns of every entity: names of instances and of tables with their type have an underscore. */
const EVERY_ENTITY = '^[*]+(_[*]+)?$';

/** Whether a pattern names no entity. */
export function isEveryEntity(entity: string): boolean {
  return new RegExp(EVERY_ENTITY).test(entity);
}

function isEveryCheck(check: string): boolean {
  return globMatches(compileGlob(check), CHECK_END);
}

export const Mute = Type.Object(
  {
    id: Type.String({ maxLength: 63, pattern: MUTE_ID_PATTERN, description: 'Unique name of the mute.' }),
    check: Type.Optional(
      Type.String({
        maxLength: 128,
        pattern: CHECK_GLOB_PATTERN,
        description: 'Name of the check; * matches any characters. Every check by default.',
      }),
    ),
    entity: Type.String({
      maxLength: 512,
      pattern: ENTITY_GLOB_PATTERN,
      description: 'Name of the entity, as in findings; * matches any characters, such as events_*.',
    }),
    reason: Type.String({ minLength: 1, maxLength: 1024, description: 'Why these findings are accepted until then.' }),
    author: Type.Optional(
      Type.String({
        maxLength: 512,
        description: 'Who created the mute. The REST interface sets the caller; kubectl does not verify it.',
      }),
    ),
    until: Type.String({ format: 'date-time', description: 'End of the mute, RFC 3339, at most 90 days ahead.' }),
  },
  { description: 'Findings that are accepted for a time. They stay in the report and are counted apart.' },
);
export type Mute = Static<typeof Mute>;

export const MuteCount = Type.Object(
  {
    id: Type.String({ maxLength: 63, description: 'Id of the mute.' }),
    findingCount: Type.Integer({ description: 'Number of findings to which it applies.' }),
  },
  { description: 'Findings of one mute.' },
);
export type MuteCount = Static<typeof MuteCount>;

/** The schema for the spec of a report. */
export const MUTES_RULE = {
  cel: `!has(self.mutes) || self.mutes.all(mute, !mute.entity.matches('${EVERY_ENTITY}') || (has(mute.check) && !'${CHECK_END}'.matches('^' + mute.check.replace('*', '.*') + '$')))`,
  message:
    'spec.mutes: a mute must name a check or an entity: every check of every entity would also mute faults of the future',
  holds: ({ mutes = [] }: { readonly mutes?: readonly Mute[] }) =>
    mutes.every(({ check = '*', entity }) => !isEveryEntity(entity) || !isEveryCheck(check)),
};
