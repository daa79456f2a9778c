import type { JSX } from 'preact';
import { Name } from '../../components/basics.tsx';
import { visible } from '../../lib/visible.ts';
import type { Subject } from '../../lib/types.ts';

/** The further subjects of the question in the address, such as `group:analysts`, one in a line. */
export const textOf = (subjects: readonly Subject[]): string =>
  subjects.map(({ subjectType, subject }) => `${subjectType}:${subject}`).join('\n');

export function subjectsOf(text: string | null): Subject[] {
  return (text ?? '').split('\n').flatMap((line) => {
    const at = line.indexOf(':');
    return at < 1 ? [] : [{ subjectType: line.slice(0, at), subject: line.slice(at + 1) }];
  });
}

/** Subjects as simulate-access expects them. */
export function bySubjectType(subjects: readonly Subject[]): Record<string, string[]> {
  const grouped: Record<string, string[]> = {};
  for (const { subjectType, subject } of subjects) {
    if (subject !== '') (grouped[subjectType] ??= []).push(subject);
  }
  return grouped;
}

/** The further subjects of the question: all are one person, who has the roles of each. */
export function Also(props: {
  subjects: readonly Subject[];
  onChange: (subjects: readonly Subject[]) => void;
}): JSX.Element | null {
  if (props.subjects.length === 0) return null;
  return (
    <div class="row">
      <span class="muted">Together with</span>
      {props.subjects.map((subject) => (
        <button
          type="button"
          class="chip small"
          key={textOf([subject])}
          aria-label={`Remove ${subject.subjectType} ${visible(subject.subject)}`}
          onClick={() => props.onChange(props.subjects.filter((other) => other !== subject))}
        >
          {subject.subjectType} <Name text={subject.subject} /> ×
        </button>
      ))}
    </div>
  );
}
