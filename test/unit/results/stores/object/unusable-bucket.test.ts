import { describe, expect, it } from 'vitest';
import { QueryError } from '../../../../../src/results/errors.ts';
import { isForbidden, unusableBucket } from '../../../../../src/results/stores/object/unusable-bucket.ts';

const BUCKET = { base: 's3://results/olap' };
const LISTING = { right: 's3:ListBucket', doing: 'listing its objects' };
const named = (fields: object, message = 'AKIASECRET may not', cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), fields);

it('the causes of an error that is its own cause are read a few times', () => {
  const cause: Error = named({ name: 'SlowDown' });
  cause.cause = cause;
  expect(unusableBucket(BUCKET, LISTING, cause).message).toContain('listing its objects failed (SlowDown)');
});

it('the causes of an error are read to the fifth error', () => {
  const chain = (causes: number): Error => {
    let error = named({ name: 'NoSuchBucket' });
    for (let count = 0; count < causes; count++) error = named({ name: 'Wrapper' }, 'x', error);
    return error;
  };
  expect(unusableBucket(BUCKET, LISTING, chain(4)).message).toContain('the bucket does not exist (NoSuchBucket)');
  expect(unusableBucket(BUCKET, LISTING, chain(5)).message).toContain('listing its objects failed (Wrapper)');
});

it.each([
  [named({ name: 'AccessDenied' }), true],
  [named({ code: 403 }), true],
  [named({ name: 'AccessDenied' }, 'x', named({ name: 'SignatureDoesNotMatch' })), false],
  [named({ name: 'NoSuchBucket' }), false],
  [named({ name: 'SlowDown' }), false],
])('whether only a permission is missing: %o %s', (error, expected) => {
  expect(isForbidden(error)).toBe(expected);
});

describe('the message of a bucket that cannot be used', () => {
  it.each([
    [named({ name: 'SignatureDoesNotMatch' }), 'the secret key is wrong (SignatureDoesNotMatch)'],
    [named({ name: 'InvalidAccessKeyId' }), 'the access key is unknown (InvalidAccessKeyId)'],
    [named({ name: 'NoSuchBucket' }), 'the bucket does not exist (NoSuchBucket)'],
    [named({ name: 'AccessDenied' }), 'the credentials lack the permission `s3:ListBucket` (AccessDenied)'],
    [named({ code: 403 }), 'the credentials lack the permission `s3:ListBucket` (403)'],
    [named({ code: 404 }), 'the bucket does not exist (404)'],
    [named({ code: 'ECONNREFUSED' }), 'nothing listens at the endpoint (ECONNREFUSED)'],
    [
      named({ name: 'FetchError' }, 'request failed', named({ code: 'ENOTFOUND' })),
      'the host name of the endpoint cannot be resolved (ENOTFOUND)',
    ],
    [named({}, 'Could not load the default credentials.'), 'no credentials were found (CredentialsProviderError)'],
    [named({ name: 'SlowDown' }), 'listing its objects failed (SlowDown)'],
    [named({ name: 'with a text\nof the bucket' }), 'listing its objects failed (unknown error)'],
    ['no error', 'listing its objects failed (unknown error)'],
  ])('names what is wrong, in one line and without its text: %s', (cause, expected) => {
    const error = unusableBucket(BUCKET, LISTING, new QueryError('store-unavailable', 'failed', { cause }));
    expect(error.message).toBe(`the result store \`s3://results/olap\` cannot be used: ${expected}`);
    expect(error.code).toBe('store-unavailable');
  });
});
