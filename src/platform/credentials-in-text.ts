/** Service tokens: the access key is public, the rest is secret. */
const SERVICE_TOKEN = /svc-([a-z0-9]{16})-[a-z0-9]{32}/g;
/** JSON Web Tokens, also after a percent-encoded character of a path. They begin where no longer one can, so that the search is linear. */
const JSON_WEB_TOKEN = /(?:(?<![\w-])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w-]{8,}\.[\w-]{2,}\.[\w-]*/g;

/** Tokens of the first administrator of standalone: 32 random bytes. */
const ADMINISTRATOR_TOKEN = /adm-[\w-]{43}/g;

/** Sessions of the dashboard. */
const SESSION = /v1:[\w-]{8}:[\w-]{48,}/g;

/** How a credential begins. */
const BEGIN = /svc-|adm-|v1:|eyJ/;

/** The text without the service tokens, tokens of the first administrator, sessions and JSON Web Tokens in it, such as one that was sent in place of a name. Linear in its length. */
export function withoutCredentials(text: string): string {
  // The usual case.
  if (!BEGIN.test(text)) return text;
  return text
    .replace(SERVICE_TOKEN, 'svc-$1-[redacted]')
    .replace(ADMINISTRATOR_TOKEN, 'adm-[redacted]')
    .replace(SESSION, '[redacted]')
    .replace(JSON_WEB_TOKEN, '[redacted]');
}

const PART_OF_CREDENTIAL = /[\w.:-]/;

/**
 * The first characters of the text without the credentials in it, followed by the number of characters left out. A credential that the limit cuts
 * is left out as a whole, because its beginning would not be recognized. Linear in the limit.
 */
export function redactedStart(text: string, limit: number): string {
  if (text.length <= limit) return withoutCredentials(text);
  let word = limit;
  while (word > 0 && PART_OF_CREDENTIAL.test(text[word - 1] ?? '')) word--;
  const credential = text.slice(word, limit).search(BEGIN);
  const end = credential < 0 ? limit : word + credential;
  return `${withoutCredentials(text.slice(0, end))}[${text.length - end} more characters]`;
}
