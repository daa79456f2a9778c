import type { SegmentOrphans } from '../../snapshot.ts';
import { sampleOf } from './layout.ts';

/** Names that are compared between two reads. */
const MAX_COMPARED = 10_000;

/** Segments of one reading that are in only one of the ideal state and the metadata. */
export class OrphanNames {
  /** Segments that are in the metadata but not in the ideal state. */
  readonly unassigned: string[] = [];
  /** Segments that are in the ideal state but not in the metadata. */
  readonly withoutMetadata: string[] = [];

  /** True if there is none. */
  get isEmpty(): boolean {
    return this.unassigned.length === 0 && this.withoutMetadata.length === 0;
  }

  addUnassigned(name: string): void {
    if (this.unassigned.length < MAX_COMPARED) this.unassigned.push(name);
  }

  addWithoutMetadata(name: string): void {
    if (this.withoutMetadata.length < MAX_COMPARED) this.withoutMetadata.push(name);
  }

  /** Those that are in both readings: a segment that is being added or removed is in one document before the other. */
  persistent(again: OrphanNames): SegmentOrphans {
    return {
      unassigned: sampleOf(intersection(this.unassigned, again.unassigned)),
      withoutMetadata: sampleOf(intersection(this.withoutMetadata, again.withoutMetadata)),
    };
  }
}

function intersection(before: readonly string[], now: readonly string[]): string[] {
  const known = new Set(before);
  return now.filter((name) => known.has(name));
}

/** A table without orphans. */
export const NO_ORPHANS: SegmentOrphans = { unassigned: sampleOf([]), withoutMetadata: sampleOf([]) };
