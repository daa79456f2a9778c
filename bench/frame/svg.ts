import type { Axis, Curve } from './curve.ts';
import { format } from './format.ts';

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 84;
const RIGHT = 24;
const TOP = 48;
const BOTTOM = 52;
const LEGEND_LINE = 20;
const MAX_TICKS = 6;

/** Distinguishable with a colour vision deficiency, on light and on dark ground (after Okabe and Ito); each also has its own marker and dash. */
const COLOURS = ['#2f86cc', '#d55e00', '#009e73', '#b0679b', '#9a7d0a', '#4f9bd0'];
const DASHES = ['', '7 4', '2 4', '10 3 2 3', '5 2', '1 3'];

/** Follows the colour scheme of the reader, also when the picture is embedded with `<img>`. */
const STYLE = `<style>
    .ground { fill: #ffffff } text { fill: #1f2328; font: 13px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
    .grid { stroke: #d1d9e0; stroke-width: 1 } .axis { stroke: #59636e; stroke-width: 1.2 }
    @media (prefers-color-scheme: dark) { .ground { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #9198a1 } }
  </style>`;

/** The curve as a picture: axes with units, a legend, and a text alternative with all values. */
export function drawCurve(curve: Curve): string {
  const height = HEIGHT + curve.series.length * LEGEND_LINE;
  const points = curve.series.flatMap((series) => series.points);
  const xScale = scaleOf(
    curve.x,
    points.map(([x]) => x),
    [LEFT, WIDTH - RIGHT],
  );
  const yScale = scaleOf(
    curve.y,
    points.map(([, y]) => y),
    [HEIGHT - BOTTOM, TOP],
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(curve.title)}</title>`,
    `<desc id="desc">${escaped(describeCurve(curve))}</desc>`,
    STYLE,
    `<rect class="ground" width="${WIDTH}" height="${height}"/>`,
    `<text class="title" x="${LEFT}" y="26">${escaped(curve.title)}</text>`,
    ...xAxis(curve.x, xScale),
    ...yAxis(curve.y, yScale),
  ];
  for (const [index, { name, points: own }] of curve.series.entries()) {
    const at = own.map(([x, y]) => [xScale.place(x), yScale.place(y)] as const);
    parts.push(...drawSeries(at, index), ...legend(name, index));
  }
  return `${parts.join('\n  ')}\n</svg>\n`;
}

/** All values as a text. */
export function describeCurve({ x, y, series }: Curve): string {
  const values = series.map(
    ({ name, points }) => `${name}: ${points.map(([at, value]) => `${format(at)}: ${format(value)}`).join(', ')}`,
  );
  return `${withUnit(y)} by ${withUnit(x)}. ${values.join('. ')}.`;
}

const withUnit = ({ label, unit }: Axis): string => (unit === '' ? label : `${label} (${unit})`);

interface Scale {
  /** Pixels. */
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

function scaleOf(axis: Axis, values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const ticks = axis.scale === 'log' ? logTicks(values) : linearTicks(values);
  const measureOf = axis.scale === 'log' ? Math.log10 : (value: number): number => value;
  const low = measureOf(ticks[0] ?? 0);
  const high = measureOf(ticks.at(-1) ?? 1);
  const place = (value: number): number => rounded(from + ((measureOf(value) - low) / (high - low)) * (to - from));
  return { place, ticks };
}

/** Powers of ten around the values; of a narrow range also their double and their fivefold. */
function logTicks(values: readonly number[]): number[] {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const first = Math.floor(Math.log10(low));
  const last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  const powers = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  if (powers.length > 3) {
    const step = Math.ceil(powers.length / (MAX_TICKS + 1));
    return powers.filter((power, index) => index % step === 0 || power === powers.at(-1));
  }
  const all = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const start = all.findLastIndex((tick) => tick <= low);
  const end = Math.max(
    start + 1,
    all.findIndex((tick) => tick >= high),
  );
  return all.slice(start, end + 1);
}

/** From 0, in steps of 1, 2 or 5 times a power of ten. */
function linearTicks(values: readonly number[]): number[] {
  const high = Math.max(...values, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(high / MAX_TICKS));
  const step = [1, 2, 5, 10].map((times) => times * power).find((candidate) => candidate * MAX_TICKS >= high)!;
  return Array.from({ length: Math.ceil(high / step) + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

function xAxis(axis: Axis, { place, ticks }: Scale): string[] {
  const bottom = HEIGHT - BOTTOM;
  return [
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${place(tick)}" y1="${TOP}" x2="${place(tick)}" y2="${bottom}"/>`,
      `<text x="${place(tick)}" y="${bottom + 18}" text-anchor="middle">${format(tick)}</text>`,
    ]),
    `<line class="axis" x1="${LEFT}" y1="${bottom}" x2="${WIDTH - RIGHT}" y2="${bottom}"/>`,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${bottom + 40}" text-anchor="middle">${escaped(withUnit(axis))}</text>`,
  ];
}

function yAxis(axis: Axis, { place, ticks }: Scale): string[] {
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  return [
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${LEFT}" y1="${place(tick)}" x2="${WIDTH - RIGHT}" y2="${place(tick)}"/>`,
      `<text x="${LEFT - 8}" y="${place(tick) + 4}" text-anchor="end">${format(tick)}</text>`,
    ]),
    `<line class="axis" x1="${LEFT}" y1="${TOP}" x2="${LEFT}" y2="${HEIGHT - BOTTOM}"/>`,
    `<text transform="translate(18 ${middle}) rotate(-90)" text-anchor="middle">${escaped(withUnit(axis))}</text>`,
  ];
}

type Places = readonly (readonly [x: number, y: number])[];

function drawSeries(places: Places, index: number): string[] {
  const path = places.map(([x, y]) => `${x},${y}`).join(' ');
  return [
    `<polyline points="${path}" fill="none" stroke="${colour(index)}" stroke-width="2"${dash(index)}/>`,
    ...places.map((place) => marker(place, index)),
  ];
}

function legend(name: string, index: number): string[] {
  const y = HEIGHT + index * LEGEND_LINE + 4;
  return [
    `<line x1="${LEFT}" y1="${y}" x2="${LEFT + 32}" y2="${y}" stroke="${colour(index)}" stroke-width="2"${dash(index)}/>`,
    marker([LEFT + 16, y], index),
    `<text x="${LEFT + 42}" y="${y + 4}">${escaped(name)}</text>`,
  ];
}

/** A circle, a square and a triangle in turn. */
function marker([x, y]: readonly [number, number], index: number): string {
  const fill = `fill="${colour(index)}"`;
  const form = index % 3;
  if (form === 0) return `<circle cx="${x}" cy="${y}" r="4" ${fill}/>`;
  if (form === 1) return `<rect x="${rounded(x - 4)}" y="${rounded(y - 4)}" width="8" height="8" ${fill}/>`;
  return `<path d="M${x},${rounded(y - 5)} L${rounded(x + 5)},${rounded(y + 4)} L${rounded(x - 5)},${rounded(y + 4)} Z" ${fill}/>`;
}

const colour = (index: number): string => COLOURS[index % COLOURS.length] ?? '';

function dash(index: number): string {
  const pattern = DASHES[index % DASHES.length];
  return pattern ? ` stroke-dasharray="${pattern}"` : '';
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
