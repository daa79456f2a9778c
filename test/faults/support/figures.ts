import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../guarantees.md');

/** How long a fault lasts. `make test-faults` sets ten seconds. */
export const FAULT_MS = Number(process.env['FAULT_SECONDS'] ?? 3) * 1000;

/** One row of the table of figures. */
export interface Figure {
  readonly fault: string;
  /** What the clients got during the fault. */
  readonly seen: string;
  readonly longest: string;
  /** Until everything was served again after the fault, milliseconds. */
  readonly recoveredMs: number;
}

/** Rows of one chapter. With UPDATE=1, `write()` replaces the table between its comments in test/guarantees.md. */
export class Figures {
  readonly #chapter: string;
  readonly #rows: Figure[] = [];

  constructor(chapter: string) {
    this.#chapter = chapter;
  }

  add(figure: Figure): void {
    this.#rows.push(figure);
    process.stdout.write(`${rowOf(figure)}\n`);
  }

  async write(): Promise<void> {
    if (process.env['UPDATE'] !== '1') return;
    const page = await readFile(PAGE, 'utf8');
    const begin = `<!-- figures: ${this.#chapter} -->`;
    const at = page.indexOf(begin);
    const end = page.indexOf('<!-- end -->', at);
    if (at < 0 || end < 0) throw new Error(`test/guarantees.md has no chapter \`${begin}\``);
    const table = [
      '| fault | clients got | longest response | all well after |',
      '|---|---|---|---|',
      ...this.#rows.map(rowOf),
    ];
    await writeFile(PAGE, `${page.slice(0, at)}${begin}\n${table.join('\n')}\n${page.slice(end)}`);
  }
}

function rowOf({ fault, seen, longest, recoveredMs }: Figure): string {
  return `| ${fault} | ${seen} | ${longest} | ${(recoveredMs / 1000).toFixed(1)} s |`;
}
