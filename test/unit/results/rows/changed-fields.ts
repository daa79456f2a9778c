export type Fields = Readonly<Record<string, unknown>>;

/** A copy with another value at a path; undefined removes the field. */
export function changed(whole: Fields, path: string, value: unknown): Fields {
  const [name = '', ...rest] = path.split('.');
  return { ...whole, [name]: rest.length === 0 ? value : changed(whole[name] as Fields, rest.join('.'), value) };
}
