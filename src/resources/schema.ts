import { Type, type TSchema, type Static } from 'typebox';

/**
 * A string enum as `{type: string, enum: […]}`.
 *
 * TypeBox's unions of literals become `anyOf`/`const`, which is not a structural schema; a kube-apiserver would reject the CRD.
 */
export function StringEnum<const V extends readonly string[]>(
  values: V,
  options: { description?: string; default?: V[number] } = {},
) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options });
}

/**
 * A rule that a JSON schema cannot express, as CEL in the CRD (for kubectl) and as TypeScript (for REST bodies and the folder store, which
 * do not pass a kube-apiserver). A test checks that both give the same results.
 */
export interface Rule<T> {
  /** CEL over `self`, as in `x-kubernetes-validations`. */
  readonly cel: string;
  /** One sentence, with what would be right. */
  readonly message: string;
  readonly holds: (value: T, previous: T | undefined) => boolean;
}

/**
 * CEL rules of an entry of a list, for a kube-apiserver only: it applies them to what is new or changed. Stored entries that break one stay in
 * effect, and so do those of a folder.
 */
export function itemRules(rules: readonly Pick<Rule<never>, 'cel' | 'message'>[]) {
  return { 'x-kubernetes-validations': rules.map(({ cel, message }) => ({ rule: cel, message })) };
}

/**
 * For a spec with only optional fields. When its only list becomes empty, server-side apply removes the spec itself
 * (kubernetes-sigs/structured-merge-diff), and the object would be rejected without this default.
 */
export const emptyByDefault = { default: {} } as const;

/** Definition of a kind: the source of its type, its validator, its CRD in `crds/` and its reference page. */
export interface KindDefinition<
  K extends string = string,
  Spec extends TSchema = TSchema,
  Status extends TSchema = TSchema,
> {
  readonly kind: K;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** One paragraph for `kubectl explain` and the reference page. */
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  /** Rules over `spec`. */
  readonly rules: readonly Rule<Static<Spec>>[];
  readonly printerColumns: readonly PrinterColumn[];
  /** Fields for `kubectl get --field-selector`: paths of single texts. */
  readonly selectableFields?: readonly string[];
}

/** A column of `kubectl get`; fields as in `additionalPrinterColumns` of a CRD. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean';
  readonly jsonPath: string;
  readonly description: string;
  /** 0 (default): always shown; 1: only with `-o wide`. */
  readonly priority?: 0 | 1;
}
