import { policyResource, roleResource, serviceTokenResource, type Srn } from './policy/srn.ts';

/** Whether a caller may do an action on a resource, for what is shown to it. */
export type MayDo = (action: string, resource: Srn) => boolean;

/** A right to read something. */
export interface ReadRight {
  readonly action: string;
  readonly resource: Srn;
}

/** A part of a text that only callers with all of these rights see. */
export interface GuardedText {
  readonly rights: readonly ReadRight[];
  readonly text: string | ReadableText;
  /** What others see in its place. It must not name anything that the rights protect. */
  readonly otherwise: string | ReadableText;
}

/**
 * A text that names only what its reader could read otherwise. A message about another resource than that of the call is made of it, so that it is the
 * same for callers who may not read that resource, whatever the resource contains. As a string it is complete, for the audit log and the log.
 */
export class ReadableText {
  readonly #parts: readonly (string | GuardedText)[];

  constructor(parts: readonly (string | GuardedText)[]) {
    this.#parts = parts;
  }

  toString(): string {
    return this.shownTo(() => true);
  }

  /** The text for a caller with these rights. */
  shownTo(may: MayDo): string {
    const shown = (part: string | ReadableText): string => (typeof part === 'string' ? part : part.shownTo(may));
    return this.#parts
      .map((part) => {
        if (typeof part === 'string') return part;
        const isReadable = part.rights.every(({ action, resource }) => may(action, resource));
        return shown(isReadable ? part.text : part.otherwise);
      })
      .join('');
  }
}

/** A text with guarded parts, as a template. */
export function readableText(
  strings: TemplateStringsArray,
  ...values: readonly (string | GuardedText)[]
): ReadableText {
  return new ReadableText(strings.flatMap((text, index) => [text, values[index] ?? '']));
}

/** The right to read a role, a policy or a service token, with the name and the content. */
export function readRight(kind: 'Role' | 'Policy' | 'ServiceToken', name: string): ReadRight {
  if (kind === 'Role') return { action: 'GetRole', resource: roleResource(name) };
  if (kind === 'Policy') return { action: 'GetPolicy', resource: policyResource(name) };
  return { action: 'GetServiceToken', resource: serviceTokenResource(name) };
}

/** The right to read who has a role. */
export function assignmentsRight(role: string): ReadRight {
  return { action: 'GetAssignment', resource: roleResource(role) };
}
