import { ACCESS_COMMANDS, ACCESS_USAGE } from '../../src/commands/access.ts';
import { AUDIT_USAGE } from '../../src/commands/audit.ts';
import { CHECK_USAGE } from '../../src/commands/check.ts';
import { USAGE } from '../../src/commands/help.ts';
import type { GeneratedFiles } from './generator.ts';

const fenced = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;

/** Generates docs/commands.md from the help texts of the program. */
export function generateCommands(): GeneratedFiles {
  const page = `<!-- Generated from the help texts of the program by \`make generate\`; do not edit. -->
# Command line

${fenced(USAGE)}

The flags of \`standalone\`, \`gateway\` and \`operator\` are their settings: [configuration](configuration.md).

## check

The checks and what to do about each: [health checks](checks/README.md). \`--config\` takes the fields of \`spec\` of a [ClusterHealthReport](resources/clusterhealthreport.md).

${fenced(CHECK_USAGE)}

## audit

What is verified: [the chain of the records](rbac.md#the-chain-of-the-records).

${fenced(AUDIT_USAGE)}

## access

A worked pull request: [access in Git](access-in-git.md).

${[fenced(ACCESS_USAGE), ...[...ACCESS_COMMANDS.values()].map(({ usage }) => fenced(usage))].join('\n\n')}
`;
  return new Map([['docs/commands.md', page]]);
}
