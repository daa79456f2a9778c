import { OPTIONS_VERSION, QUERY_OPTIONS, type OptionHandling } from '../../src/access/sql/query-options.ts';
import type { GeneratedFiles } from './generator.ts';

const HEAD = `<!-- Generated from src/access/sql/query-options.ts by \`make generate\`; do not edit. -->
# Query options

What the gateway does about each query option of Pinot 0.11 to ${OPTIONS_VERSION}, in \`SET key = value\`, \`OPTION(key=value)\`, \`queryOptions\` and \`debugOptions\`, also in queries within strings.
Names are compared without case, as in Pinot. An option that is not listed here gets 400 with its name and the nearest known name, because an option of a newer version could make a query
read other tables. An administrator who knows that it cannot allows it with the setting \`allowed-query-options\`; the refused options below cannot be allowed. 1.6 is not released: its options are those of Pinot's sources at 210c295.

Hints (\`/*+ … */\`) of plain names and values are passed. They choose how joins, aggregations and windows are executed, and cannot name a table.
`;

const CHAPTERS: readonly (readonly [OptionHandling, string, string])[] = [
  ['refused', 'Refused', 'The query gets 400 with this reason. Values in the third column are passed.'],
  ['interpreted', 'Interpreted', 'Pinot gets the option, and the gateway takes it into account.'],
  [
    'passed',
    'Passed',
    'Pinot gets the option as it is written. It changes neither which tables a query reads nor what the gateway checks.',
  ],
];

/** Generates docs/query-options.md: all query options by what the gateway does about them. */
export function generateQueryOptions(): GeneratedFiles {
  const chapters = CHAPTERS.map(([handling, title, text]) => `\n## ${title}\n\n${text}\n\n${table(handling)}\n`);
  return new Map([['docs/query-options.md', `${HEAD}${chapters.join('')}`]]);
}

function table(handling: OptionHandling): string {
  const options = QUERY_OPTIONS.filter((option) => option.handling === handling);
  const withValues = handling === 'refused';
  const rows = options.map(({ name, since, until, accepts, note }) => {
    const versions = until === undefined ? `${since} and newer` : since === until ? since : `${since} to ${until}`;
    const values = withValues ? ` ${accepts.map((value) => `\`${value}\``).join(', ')} |` : '';
    return `| \`${name}\` | ${versions} |${values} ${note} |`;
  });
  const head = withValues
    ? ['| option | versions | passed values | why |', '|---|---|---|---|']
    : ['| option | versions | effect |', '|---|---|---|'];
  return [...head, ...rows].join('\n');
}
