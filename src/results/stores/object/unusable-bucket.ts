import { asError, errorCode, isError } from '../../../platform/plain-error.ts';
import { UnusableStoreError } from '../../errors.ts';
import type { ObjectClient } from './object-client.ts';

/** What is wrong, by the names of errors of S3, of its SDK and of connections, and by the statuses of GCS. */
const REASONS: Readonly<Record<string, string>> = {
  SignatureDoesNotMatch: 'the secret key is wrong',
  InvalidAccessKeyId: 'the access key is unknown',
  InvalidClientTokenId: 'the access key is unknown',
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the session token of the credentials is invalid',
  CredentialsProviderError: 'no credentials were found',
  NoSuchBucket: 'the bucket does not exist',
  InvalidBucketName: 'the name of the bucket is invalid',
  NotFound: 'the bucket does not exist',
  404: 'the bucket does not exist',
  401: 'the credentials are invalid',
  invalid_grant: 'the credentials are invalid',
  PermanentRedirect: 'the bucket is in another region or at another endpoint',
  AuthorizationHeaderMalformed: 'the region is wrong',
  RequestTimeTooSkewed: 'the clock of this machine is wrong',
  ENOTFOUND: 'the host name of the endpoint cannot be resolved',
  EAI_AGAIN: 'the host name of the endpoint cannot be resolved at the moment',
  ECONNREFUSED: 'nothing listens at the endpoint',
  ECONNRESET: 'the endpoint closes the connection',
  EHOSTUNREACH: 'the endpoint cannot be reached',
  ENETUNREACH: 'the endpoint cannot be reached',
  ETIMEDOUT: 'the endpoint does not respond',
  TimeoutError: 'the endpoint does not respond',
  AbortError: 'the endpoint does not respond',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the endpoint is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the endpoint is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the endpoint is not trusted',
  CERT_HAS_EXPIRED: 'the certificate of the endpoint has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the endpoint is for another name',
  ERR_INVALID_URL: 'the endpoint is not a URL',
};
const FORBIDDEN: ReadonlySet<string> = new Set(['AccessDenied', 'Forbidden', 'AllAccessDisabled', '403']);
/** Errors of Google's libraries without a code. */
const NO_CREDENTIALS = /default credentials/;

/** What failed, and the permission that it needs. */
export interface FailedAccess {
  readonly right: string;
  /** Such as `listing its objects`. */
  readonly doing: string;
}

/**
 * Why a bucket cannot be used: the wrong secret, bucket, endpoint or permission, and the name of the error. The message has neither credentials nor
 * text of the bucket.
 */
export function unusableBucket(
  { base }: Pick<ObjectClient, 'base'>,
  failed: FailedAccess,
  error: unknown,
): UnusableStoreError {
  const message = `the result store \`${base}\` cannot be used: ${problemOf(failed, error)}`;
  return new UnusableStoreError(message, { cause: error });
}

/** What is wrong, and the name of the error. */
export function problemOf({ right, doing }: FailedAccess, error: unknown): string {
  const names = namesOf(error);
  const known = names.find((name) => Object.hasOwn(REASONS, name));
  if (known !== undefined) return `${REASONS[known]} (${known})`;
  const forbidden = names.find((name) => FORBIDDEN.has(name));
  if (forbidden !== undefined) return `the credentials lack the permission \`${right}\` (${forbidden})`;
  return `${doing} failed (${names[0] ?? 'unknown error'})`;
}

/** Whether only a permission is missing. */
export function isForbidden(error: unknown): boolean {
  const names = namesOf(error);
  return names.some((name) => FORBIDDEN.has(name)) && !names.some((name) => Object.hasOwn(REASONS, name));
}

/** Names, codes and statuses of the error and its causes, the innermost first. */
function namesOf(error: unknown): string[] {
  const names: string[] = [];
  let isMissingCredentials = false;
  for (let at = error, depth = 0; isError(at) && depth < 5; depth++) {
    const current = asError(at);
    const { name, message } = current;
    const code = errorCode(current);
    isMissingCredentials ||= NO_CREDENTIALS.test(message);
    const own = [code, name].filter((text) => typeof text === 'string' || typeof text === 'number').map(String);
    if (name !== 'QueryError') names.unshift(...own.filter((text) => text !== 'Error' && /^[\w.-]{1,64}$/.test(text)));
    at = current.cause;
  }
  return isMissingCredentials ? ['CredentialsProviderError', ...names] : names;
}
