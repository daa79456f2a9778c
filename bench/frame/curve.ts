export interface Axis {
  readonly label: string;
  readonly unit: string;
  /** A linear axis starts at 0. */
  readonly scale: 'linear' | 'log';
}

export interface Series {
  readonly name: string;
  /** In ascending order of x. Values of a logarithmic axis are above 0. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** A figure over the size of the work. */
export interface Curve {
  /** Name of its picture: lower-case letters, digits and hyphens. */
  readonly id: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** What is seen in it: where it bends, and why. */
  readonly note?: string;
}

/** @throws {Error} if it cannot be drawn */
export function checkCurve(curve: Curve): void {
  const fault = faultOf(curve);
  if (fault) throw new Error(`curve \`${curve.id}\`: ${fault}`);
}

function faultOf({ id, x, y, series }: Curve): string | undefined {
  if (!/^[a-z][a-z0-9-]*$/.test(id)) return 'the id may have lower-case letters, digits and hyphens only';
  const points = series.flatMap((one) => one.points);
  if (points.length === 0) return 'it has no points';
  if (!points.flat().every((value) => Number.isFinite(value) && value >= 0)) return 'a value is not a number from 0 on';
  if (x.scale === 'log' && points.some(([at]) => at === 0)) return 'a logarithmic x axis has no 0';
  if (y.scale === 'log' && points.some(([, at]) => at === 0)) return 'a logarithmic y axis has no 0';
  const ordered = series.every((one) => one.points.every(([at], index) => at > (one.points[index - 1]?.[0] ?? -1)));
  return ordered ? undefined : 'the points of a series must ascend';
}
