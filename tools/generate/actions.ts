import { ACTIONS_BY_KIND, KINDS_WITH_ACTIONS, type KindWithActions } from '../../src/access/policy/action-kinds.ts';
import { ACTIONS } from '../../src/access/policy/actions.ts';
import { TABLE_ACTIONS_ALSO_ON_CLUSTER } from '../../src/pinot/call-actions.ts';
import type { GeneratedFiles } from './generator.ts';

const SOURCE = 'src/access/policy/action-kinds.ts';

const HEAD = `<!-- Generated from ${SOURCE} by \`make generate\`; do not edit. -->
# Actions

Each action of a policy, and the kinds of resources on which it exists. A statement whose actions exist on none of its resources never matches: the REST API refuses it, and the condition \`Warning\`
(\`NeverMatches\`) of a Policy names it. [rbac.md](rbac.md#actions) has the actions by topic.

*yes* — requests ask for the action on resources of this kind. *rarely* — only calls whose table is not known (a form, an upload without the name of a table), unknown calls, and configurations with queries of tasks; a statement for it is accepted with a warning.
A \`deny\` of an action on the cluster can name tables, too: it stops the calls that name one of them.

`;

function markOf(action: string, kind: KindWithActions): string {
  if (ACTIONS_BY_KIND[kind].includes(action)) return 'yes';
  return kind === 'cluster' && TABLE_ACTIONS_ALSO_ON_CLUSTER.has(action) ? 'rarely' : '';
}

const MAX_LINE = 120;

/** One property as the formatter writes it. */
function entryOf(kind: KindWithActions): string {
  const key = kind.includes('-') ? `'${kind}'` : kind;
  const names = ACTIONS_BY_KIND[kind].map((action) => `'${action}'`);
  const line = `  ${key}: [${names.join(', ')}],\n`;
  return line.length <= MAX_LINE ? line : `  ${key}: [\n${names.map((name) => `    ${name},\n`).join('')}  ],\n`;
}

/** Generates docs/actions.md, and the same table for the completion of the dashboard. */
export function generateActions(): GeneratedFiles {
  const rows = ACTIONS.map(
    (action) => `| \`${action}\` | ${KINDS_WITH_ACTIONS.map((kind) => markOf(action, kind)).join(' | ')} |`,
  );
  const table = [
    `| action | ${KINDS_WITH_ACTIONS.join(' | ')} |`,
    `|---|${'---|'.repeat(KINDS_WITH_ACTIONS.length)}`,
    ...rows,
  ];
  const module = `// Generated from ${SOURCE} by \`make generate\`; do not edit.\n\n/** The actions on resources of each kind. */\nexport const ACTIONS_BY_KIND: Readonly<Record<string, readonly string[]>> = {\n${KINDS_WITH_ACTIONS.map(entryOf).join('')}};\n`;
  return new Map([
    ['docs/actions.md', `${HEAD}${table.join('\n')}\n`],
    ['web/src/lib/action-kinds.ts', module],
  ]);
}
