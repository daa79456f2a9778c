import { RowWalk } from '../../../../src/results/scanner/row-walk.ts';

export interface Walked {
  readonly starts: number[];
  readonly rows: number;
  readonly ended: boolean;
  readonly used: number;
}

/** @param cuts ends of the chunks except the last */
export function walk(text: string | Uint8Array, cuts: readonly number[] = [], stride = 1, limit?: number): Walked {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const rows = new RowWalk(limit);
  const starts: number[] = [];
  let used = 0;
  for (const end of [...cuts, bytes.length]) {
    if (rows.ended) break;
    const from = used;
    used += rows.scan(bytes.subarray(from, end), stride, (row, offset) => {
      if (row !== starts.length * stride) throw new Error(`row ${row} follows ${starts.length} others`);
      starts.push(from + offset);
    });
  }
  return { starts, rows: rows.rows, ended: rows.ended, used };
}
