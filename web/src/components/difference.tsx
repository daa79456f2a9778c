import type { JSX } from 'preact';
import { visibleText } from '../lib/visible.ts';
import { lineDiff, withContext, type DiffLine } from '../lib/line-diff.ts';

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', added: '+', removed: '-' };
/** Names for screen readers. */
const KINDS: Readonly<Record<DiffLine['kind'], string>> = { same: '', added: 'added: ', removed: 'removed: ' };

/** The difference of two texts: changed lines, with the lines around them. */
export function Difference(props: { label: string; before: string; after: string }): JSX.Element {
  const diff = lineDiff(props.before, props.after);
  const count = (kind: DiffLine['kind']): number => diff.filter((line) => line.kind === kind).length;
  return (
    <section class="difference" aria-label={props.label}>
      <p>
        <strong>{props.label}</strong>{' '}
        <span class="muted">
          {count('added')} {count('added') === 1 ? 'line' : 'lines'} added, {count('removed')} removed
        </span>
      </p>
      <pre tabIndex={0}>
        {withContext(diff).map((line, index) =>
          line === undefined ? (
            <span key={index} class="diff-omitted">
              {'  …\n'}
            </span>
          ) : (
            <span key={index} class={`diff-${line.kind}`}>
              <span class="sr-only">{KINDS[line.kind]}</span>
              {`${MARKS[line.kind]} ${visibleText(line.text)}\n`}
            </span>
          ),
        )}
      </pre>
    </section>
  );
}
