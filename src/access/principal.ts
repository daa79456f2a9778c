/**
 * Who is calling, as an authenticator established it. Roles are looked up by all of its subjects and add up.
 * Holds no credential.
 */
export interface Principal {
  readonly kind: 'user' | 'service-token';
  /** `srn2:user#<id>` or `srn2:service-token#<name>`; what createdBy and lastUpdatedBy say. */
  readonly srn: string;
  /** The e-mail address or Kubernetes user name of a user; the object name of a ServiceToken. */
  readonly id: string;
  readonly groups: readonly string[];
  /** Domain of a verified e-mail address, lower case; undefined where none was verified. */
  readonly domain: string | undefined;
  /** Which authenticator vouched for it: `service-token`, `kubernetes`, `oidc` or `token-file`. */
  readonly authenticator: string;
}
