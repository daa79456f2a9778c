export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Maximum cells of the comparison table. Above it, the changed part is shown as removed and added as a whole. */
const MAX_CELLS = 4_000_000;

const as = (kind: DiffLine['kind'], lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind, text }));

/** The longest common subsequence of two lists of lines, as a difference. */
function compared(before: readonly string[], after: readonly string[]): DiffLine[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > MAX_CELLS) return [...as('removed', before), ...as('added', after)];
  // length[i * width + j]: length of the longest common subsequence of before[i…] and after[j…].
  const length = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => length[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      length[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const diff: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      diff.push({ kind: 'same', text: before[i] ?? '' });
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) diff.push({ kind: 'removed', text: before[i++] ?? '' });
    else diff.push({ kind: 'added', text: after[j++] ?? '' });
  }
  return [...diff, ...as('removed', before.slice(i)), ...as('added', after.slice(j))];
}

/** The difference of two texts, line by line. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, next] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  )
    end++;
  return [
    ...as('same', old.slice(0, start)),
    ...compared(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...as('same', old.slice(old.length - end)),
  ];
}

/** Lines around a change that are kept for orientation. */
const CONTEXT = 2;

/** The changed lines with their surroundings; undefined stands for omitted lines. */
export function withContext(diff: readonly DiffLine[]): (DiffLine | undefined)[] {
  const near = diff.map((_line, index) =>
    diff.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ kind }) => kind !== 'same'),
  );
  const shown: (DiffLine | undefined)[] = [];
  for (const [index, line] of diff.entries()) {
    if (near[index]) shown.push(line);
    else if (index === 0 || near[index - 1]) shown.push(undefined);
  }
  return shown;
}
