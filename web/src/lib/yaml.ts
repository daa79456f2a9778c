/** Texts that YAML reads as the same text without quotes, in every version and schema. */
const PLAIN = /^[A-Za-z][A-Za-z0-9_./@-]*(?: [A-Za-z0-9_./@-]+)*$/;
/** Words that a YAML parser reads as another type. */
const KEYWORD = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value: unknown): string {
  if (typeof value === 'string' && PLAIN.test(value) && !KEYWORD.test(value)) return value;
  // A text in JSON is a text in double quotes in YAML.
  return JSON.stringify(value);
}

function lines(value: unknown): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const [first = '', ...rest] = lines(item);
      return [`- ${first}`, ...rest.map((line) => `  ${line}`)];
    });
  }
  if (typeof value !== 'object' || value === null) return [scalar(value)];
  return Object.entries(value).flatMap(([key, field]: [string, unknown]) => {
    if (field === undefined) return [];
    const isEmpty = typeof field === 'object' && field !== null && Object.keys(field).length === 0;
    if (isEmpty) return [`${scalar(key)}: ${Array.isArray(field) ? '[]' : '{}'}`];
    if (typeof field !== 'object' || field === null) return [`${scalar(key)}: ${scalar(field)}`];
    return [`${scalar(key)}:`, ...lines(field).map((line) => `  ${line}`)];
  });
}

/** An object as YAML in block style. Fields that are undefined are left out. */
export function toYaml(value: object): string {
  return `${lines(value).join('\n')}\n`;
}
