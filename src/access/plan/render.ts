import type { AccessReport, PlacedCause, ReportLine } from './report.ts';
import type { Direction } from './changes.ts';
import type { Who } from './plan.ts';
import { listed, quoted } from './describe.ts';

const TYPES: Readonly<Record<Who['type'], string>> = {
  'user-email': 'user',
  group: 'group',
  domain: 'domain',
  'service-token': 'service token',
  role: 'role',
};
const VERBS: Readonly<Record<Direction, string>> = { gain: 'gains', loss: 'loses' };
/** More causes of one line are only counted. */
const MAX_CAUSES = 5;

/** For a terminal. @param against what the manifests are compared with */
export function renderText(report: AccessReport, against: string): string {
  const blocks = report.entries.map(({ whos, lines }) =>
    [
      listed(whos.map(who)),
      ...lines.flatMap((line) => [
        `  ${verbOf(line)} ${line.text}`,
        ...causesOf(line).map((cause) => `      ${cause}`),
      ]),
    ].join('\n'),
  );
  const text = [...blocks, ...notCompared(report), summaryOf(report, against)].join('\n\n');
  // Without the marks of Markdown, in which names are easier to tell from the text.
  return `${text.replaceAll('`', '')}\n`;
}

/** For a comment on a pull request. */
export function renderMarkdown(report: AccessReport, against: string): string {
  const blocks = report.entries.map(({ whos, lines }) =>
    [
      `**${listed(whos.map(who))}**`,
      '',
      ...lines.map((line) => {
        const causes = causesOf(line);
        return `- **${verbOf(line)}** ${line.text}${causes.length === 0 ? '' : `<br>${causes.map((cause) => `<sub>${cause}</sub>`).join('<br>')}`}`;
      }),
    ].join('\n'),
  );
  return `${[`### Access: ${summaryOf(report, against)}`, ...blocks, ...notCompared(report)].join('\n\n')}\n`;
}

/** For programs. */
export function renderJson(report: AccessReport, against: string): string {
  const { entries, compared, gaining, losing, gainsAdministration, tooMuch } = report;
  const changes = entries.map(({ whos, lines }) => ({
    subjects: whos,
    changes: lines.map(({ directions, text, causes, details }) => ({ directions, text, ...details, causes })),
  }));
  const document = { against, compared, gaining, losing, gainsAdministration, changes, notCompared: tooMuch };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function summaryOf({ entries, gaining, losing, compared, gainsAdministration }: AccessReport, against: string): string {
  const what =
    entries.length === 0
      ? 'nobody gains or loses anything'
      : `${gaining} gain${gaining === 1 ? 's' : ''}, ${losing} lose${losing === 1 ? 's' : ''}${gainsAdministration ? ', some of them the management of access' : ''}`;
  return `${what} (${compared} subjects and unassigned roles, compared with ${quoted(against)})`;
}

function* notCompared({ tooMuch }: AccessReport): Generator<string, void, void> {
  if (tooMuch.length === 0) return;
  yield `Not compared, because their globs have too many combinations: ${listed(tooMuch.map(who))}`;
}

function verbOf({ directions }: ReportLine): string {
  return directions.map((direction) => VERBS[direction]).join(' and ');
}

function who({ type, name }: Who): string {
  return type === 'role' ? `role ${quoted(name)} (assigned to nobody)` : `${TYPES[type]} ${quoted(name)}`;
}

function causesOf({ causes }: ReportLine): string[] {
  const shown = causes.slice(0, MAX_CAUSES).map(describeCause);
  const more = causes.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

function describeCause({ kind, name, path, side, isInvalid, place }: PlacedCause): string {
  const [, field, index] = path;
  const part =
    field === 'statements'
      ? `statement ${index} of `
      : field === 'policies'
        ? 'a policy of '
        : field === 'subjects'
          ? 'a subject of '
          : '';
  const object = `${part}${kind} ${quoted(name)}`;
  const change = isInvalid
    ? `${side === 'after' ? 'is' : 'was'} invalid, which denies everything`
    : side === 'after'
      ? 'added'
      : 'removed';
  return `${place === undefined ? '' : `${quoted(place)}: `}${object} ${change}`;
}
