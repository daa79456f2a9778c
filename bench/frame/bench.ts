import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import { checkCurve, type Curve } from './curve.ts';
import { missingRow, rowOf, type Comparison, type Missing, type Row } from './rows.ts';

/** What a profile shows of one hot path. */
export interface HotPath {
  readonly work: string;
  /** Functions with the largest part of the CPU time, the largest first. */
  readonly top: readonly { readonly name: string; readonly share: number }[];
  /** Bytes that are allocated for one call. */
  readonly allocated?: number;
}

/** What a suite reports, as it comes. */
export type Finding =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'row'; readonly row: Row }
  | { readonly kind: 'curve'; readonly curve: Curve }
  | { readonly kind: 'version'; readonly program: string; readonly version: string }
  | { readonly kind: 'profile'; readonly profile: HotPath };

/** Collects what a suite measures. */
export class Bench {
  readonly #report: (finding: Finding) => void;

  constructor(report: (finding: Finding) => void) {
    this.#report = report;
  }

  /** Progress, for long work. */
  note(text: string): void {
    this.#report({ kind: 'note', text });
  }

  /** @throws {Error} if the answers of both sides differ, or if a figure is not a number */
  add(comparison: Comparison): Row {
    const row = rowOf(comparison);
    this.#report({ kind: 'row', row });
    return row;
  }

  /** A peer or a work that could not be measured: its goal is missed. */
  missing(missing: Missing): void {
    this.#report({ kind: 'row', row: missingRow(missing) });
  }

  /** @throws {Error} if it cannot be drawn */
  curve(curve: Curve): void {
    checkCurve(curve);
    this.#report({ kind: 'curve', curve });
  }

  /** The version of a peer. */
  version(program: string, version: string): void {
    this.#report({ kind: 'version', program, version });
  }

  /** Says that the processes of the product have the options of Node.js that its image has. */
  optionsOfImage(): void {
    this.version('NODE_OPTIONS', NODE_OPTIONS.join(' '));
  }

  profile(profile: HotPath): void {
    this.#report({ kind: 'profile', profile });
  }

  /** Runs a part of a suite. If it fails, the row says why, and the suite goes on. */
  async part(work: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.missing({ work, reason: reasonOf(error) });
    }
  }
}

const MAX_REASON_CHARACTERS = 300;

/** The beginning of the message on one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_REASON_CHARACTERS);
}
