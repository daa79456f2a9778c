/** `FULL=1`: the largest sizes, such as 100,000 roles and a result of 2 GB. `QUICK=1`: sizes that only show that a suite runs; its figures are not kept. */
export type Extent = 'quick' | 'normal' | 'full';

export function extentOf(env: NodeJS.ProcessEnv): Extent {
  if (env['QUICK']) return 'quick';
  return env['FULL'] ? 'full' : 'normal';
}

export const EXTENT = extentOf(process.env);

/** The value for the extent of this run. */
export function sized<T>(values: { readonly quick: T; readonly normal: T; readonly full?: T }): T {
  if (EXTENT === 'quick') return values.quick;
  return EXTENT === 'full' ? (values.full ?? values.normal) : values.normal;
}
