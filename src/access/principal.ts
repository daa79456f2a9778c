import type { CallerValue } from './sql/row-filter.ts';

/**
 * An authenticated caller. It has the roles of all its subjects.
 * Contains no credential.
 */
export interface Principal {
  readonly kind: 'user' | 'service-token';
  /** `srn2:user#<id>` or `srn2:service-token#<name>`; used in createdBy and lastUpdatedBy. */
  readonly srn: string;
  /** The e-mail address or Kubernetes user name of a user; the object name of a ServiceToken. */
  readonly id: string;
  /** `metadata.uid` of the ServiceToken that authenticated it: another token may later have the same name. */
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  /** Domain of a verified e-mail address, lower case; undefined if no address was verified. */
  readonly domain: string | undefined;
  /** Claims of its token that row filters can use, by name: those that the settings keep and that have a form for it. */
  readonly claims?: Readonly<Record<string, CallerValue>> | undefined;
  /** The authenticator that verified it: `service-token`, `kubernetes`, `oidc` or `token-file`. */
  readonly authenticator: string;
}
