import { Marked } from 'marked';

/** Renders Markdown. Headings have the ids that GitHub gives them, because alerts and pages link to chapters. */
export const MARKDOWN = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const id = text
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-');
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
});
