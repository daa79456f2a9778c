import type { ViewDifference } from '../../snapshot.ts';
import { counted, examples, have } from './findings.ts';

/** Describes the segments of a table that no server serves. */
export function unservedMessage({ unserved, viewMissing }: ViewDifference): string {
  if (viewMissing) {
    return `the table has no external view, so none of its ${counted(unserved.count, 'segment')} is served`;
  }
  return `${have(unserved.count, 'segment', 'no online replica')}${examples(unserved)}: queries do not return ${unserved.count === 1 ? 'its' : 'their'} rows`;
}
