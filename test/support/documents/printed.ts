/** What a command of a `console` block prints, by the page. */
export interface Printed {
  readonly command: string;
  /** Empty if the page does not show it. */
  readonly output: string;
}

/** The commands of a `console` block, each with the lines below it up to the next command. */
export function commandsWithOutput(text: string): Printed[] {
  return text
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.split('\n');
      return { command, output: lines.join('\n').trim() };
    });
}

/** What differs from run to run, as it is written in the documents, and the pattern of what may stand there. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`],
  [/(?<=srn2:service-token#)\w+/, String.raw`\w+`],
  [/[0-9a-f]{8}-[0-9a-f]{30}/, '[0-9a-f]{8}-[0-9a-f]{30}'],
  // The number of tables, and with it that of failed checks, is that of the cluster at hand.
  [/\d+(?=tableshave)/, String.raw`\d+`],
  [/\d+passed,\d+failed\([^()]*\)/, String.raw`\d+passed,\d+failed\([^()]*\)`],
  [/(?<=in)\d+\.\d(?=s$)/, String.raw`\d+\.\d`],
  [/…/, String.raw`[\s\S]*`],
];

const quoted = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);

/**
 * A pattern for the printed text without its white space, because the documents break long lines. `…` stands for any text.
 * @param output as the document shows it
 */
export function patternOf(output: string): RegExp {
  let rest = output.replaceAll(/\s/g, '');
  let pattern = '';
  while (rest !== '') {
    const found = VARYING.map(([text, stands]) => ({ match: text.exec(rest), stands })).filter(({ match }) => match);
    const first = found.toSorted((a, b) => a.match!.index - b.match!.index)[0];
    const at = first?.match?.index ?? rest.length;
    pattern += quoted(rest.slice(0, at)) + (first?.stands ?? '');
    rest = rest.slice(at + (first?.match?.[0].length ?? 0));
  }
  return new RegExp(`^${pattern}$`);
}

/** A printed text as {@link patternOf} compares it. */
export function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, '');
}
