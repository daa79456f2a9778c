import { CURRENT_PAGES } from './pages.ts';

/** A fenced block of a page. `where` is `path:line` of its fence. */
export interface Block {
  readonly path: string;
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of all current pages, without their indentation in lists. */
export const BLOCKS: readonly Block[] = CURRENT_PAGES.flatMap(({ path, text }) =>
  [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(([, indentation, language, content], index, all) => {
    const line = text.slice(0, all[index]!.index).split('\n').length;
    const shifted = content!.replaceAll(new RegExp(`^ {0,${indentation!.length}}`, 'gm'), '');
    return { path, where: `${path}:${line}`, language: language!, text: shifted };
  }),
);

/** Commands of the shell blocks, one text for each, with lines that end in `\` joined; of `console` blocks those behind `$ `. */
export function commandsOf({ language, text }: Block): string[] {
  const lines = text.replaceAll(/\s*\\\n\s*/g, ' ').split('\n');
  if (language === 'console') return lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2));
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

/** All commands of one language of blocks that have a word, with the place of their block. */
export function commandsWith(word: RegExp): { where: string; command: string }[] {
  return BLOCKS.filter(({ language }) => language === 'sh' || language === 'console').flatMap((block) =>
    commandsOf(block)
      .filter((command) => word.test(command))
      .map((command) => ({ where: block.where, command })),
  );
}

/** A command in backticks within a sentence. */
export interface InlineCommand {
  readonly path: string;
  readonly command: string;
  /** What its sentence says next. */
  readonly after: string;
}

/** The commands within sentences that begin with a word, with the page that has them. */
export function inlineCommands(word: RegExp): InlineCommand[] {
  return CURRENT_PAGES.flatMap(({ path, text }) => {
    const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
    return [...prose.matchAll(/`([^`\n]+)`([^`\n]*)/g)]
      .map(([, command, after]) => ({ path, command: command!, after: after! }))
      .filter(({ command }) => word.test(command));
  });
}
