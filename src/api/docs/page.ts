/** The parts of an OpenAPI document that the page shows. */
interface ShownOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly unknown[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
  readonly const?: unknown;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, ShownOperation>>>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export const STYLE = `:root{color-scheme:light dark;background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif}
body{max-width:60rem;margin:0 auto;padding:1rem}
code{font:0.9em ui-monospace,monospace}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid color-mix(in srgb,currentColor 15%,transparent)}
details{border:1px solid color-mix(in srgb,currentColor 20%,transparent);border-radius:.5rem;margin:.5rem 0;padding:.5rem .75rem}
summary{cursor:pointer}
summary code{font-weight:600}
nav a{margin-right:1rem}
`;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** Escapes text and renders \`backticks\` as code. */
const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** Renders an OpenAPI document as HTML. @param document result of \`openApiDocument\` */
export function renderDocs(document: Record<string, unknown>): string {
  const { info, paths = {}, tags = [], components } = document as unknown as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const named = [...tags, { name: '', description: 'Other' }];
  const sections = named.map(({ name, description = '' }) => {
    const own = operations.filter(({ operation }) => (operation.tags?.[0] ?? '') === name);
    if (own.length === 0) return '';
    const body = own.map(({ path, method, operation }) => renderOperation(path, method, operation)).join('\n');
    return `<section><h2 id="${escapeHtml(name)}">${escapeHtml(name || 'other')}</h2><p>${prose(description)}</p>${body}</section>`;
  });
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="schema-${escapeHtml(name)}"><summary>${code(name)}</summary>${renderSchema(schema)}</details>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(info.title)} API</title><link rel="stylesheet" href="/docs/style.css"></head>
<body><h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}</h1><p>${prose(info.description ?? '')}</p>
<nav>${tags.map(({ name }) => `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`).join('')}<a href="/openapi.json">openapi.json</a></nav>
${sections.join('\n')}
<section><h2 id="schemas">schemas</h2>${schemas.join('\n')}</section></body></html>
`;
}

function renderOperation(path: string, method: string, operation: ShownOperation): string {
  const parameters = (operation.parameters ?? []).map(
    (parameter) =>
      `<tr><td>${code(parameter.name)}</td><td>${escapeHtml(parameter.in)}${parameter.required ? ', required' : ''}</td>` +
      `<td>${typeOf(parameter.schema ?? {})}</td><td>${prose(parameter.description ?? parameter.schema?.description ?? '')}</td></tr>`,
  );
  const responses = Object.entries(operation.responses ?? {}).map(
    ([status, { description = '', content }]) =>
      `<tr><td>${code(status)}</td><td>${contentOf(content)}</td><td>${prose(description)}</td></tr>`,
  );
  const parts = [
    operation.description ? `<p>${prose(operation.description)}</p>` : '',
    operation.security?.length === 0 ? '<p>Requires no credential.</p>' : '',
    parameters.length > 0 ? `<h4>Parameters</h4><table>${parameters.join('')}</table>` : '',
    operation.requestBody ? `<h4>Body</h4>${contentOf(operation.requestBody.content)}` : '',
    `<h4>Answers</h4><table>${responses.join('')}</table>`,
  ];
  const title = `${code(`${method.toUpperCase()} ${path}`)} ${prose(operation.summary ?? '')}`;
  return `<details><summary>${title}</summary>${parts.join('')}</details>`;
}

function contentOf(content: Content | undefined): string {
  return Object.entries(content ?? {})
    .map(
      ([type, { schema }]) =>
        `${escapeHtml(type)}: ${schema?.properties ? renderSchema(schema) : typeOf(schema ?? {})}`,
    )
    .join('<br>');
}

function typeOf(schema: Schema): string {
  if (schema.$ref) {
    const name = escapeHtml(schema.$ref.split('/').at(-1) ?? '');
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(' | ');
  if ('const' in schema) return code(JSON.stringify(schema.const));
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  return escapeHtml([schema.type ?? 'any'].flat().join(' | ') + (schema.format ? ` (${schema.format})` : ''));
}

function renderSchema(schema: Schema): string {
  if (!schema.properties) return `<p>${typeOf(schema)}</p>`;
  const rows = Object.entries(schema.properties).map(
    ([name, property]) =>
      `<tr><td>${code(name)}${schema.required?.includes(name) ? '' : '?'}</td><td>${typeOf(property)}</td><td>${prose(property.description ?? '')}</td></tr>`,
  );
  return `<p>${prose(schema.description ?? '')}</p><table>${rows.join('')}</table>`;
}
