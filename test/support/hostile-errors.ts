import { createRequire } from 'node:module';
import { S3ServiceException } from '@aws-sdk/client-s3';
import { ApiException } from '@kubernetes/client-node';
import { Ajv } from 'ajv';
import fastify from 'fastify';
import { errors as joseErrors } from 'jose';
import { errors as undiciErrors } from 'undici';
import { parse } from 'yaml';

const MB = 1024 * 1024;

function fails(): never {
  throw new Error('a getter that throws');
}

function cycle(): Error {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });
  return Object.assign(first, { self: first, list: [first] });
}

function deepCauses(): Error {
  let error = new Error('the innermost');
  for (let depth = 0; depth < 10_000; depth++) error = new Error(`cause ${depth}`, { cause: error });
  return error;
}

function withGetters(): Error {
  const error = new Error('x');
  for (const field of ['name', 'message', 'code', 'stack', 'cause', 'status', 'errors', 'response', 'toJSON'])
    Object.defineProperty(error, field, { enumerable: true, get: fails });
  return error;
}

class Unprintable {
  toString(): string {
    return fails();
  }
  toJSON(): string {
    return fails();
  }
  [Symbol.toPrimitive](): string {
    return fails();
  }
}

const TRAPS: ProxyHandler<object> = {
  get: fails,
  has: fails,
  getPrototypeOf: fails,
  ownKeys: fails,
  getOwnPropertyDescriptor: fails,
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  return proxy;
}

interface GoogleLibrary {
  readonly gaxios: { readonly GaxiosError: new (message: string, config: object, response: object) => Error };
}
const fromStorage = createRequire(createRequire(import.meta.url).resolve('@google-cloud/storage'));

/** As the SDK of Google throws it for a response with an error: `response.data` has a getter alone. */
export function gaxiosError(status = 503): Error {
  const { GaxiosError } = (fromStorage('google-auth-library') as GoogleLibrary).gaxios;
  const response = Object.assign(new Response('{"error":{"code":503}}', { status }), {
    config: { headers: new Headers({ authorization: 'Bearer ya29.secret' }) },
  });
  Object.defineProperty(response, 'data', { enumerable: true, get: () => ({ error: { code: status } }) });
  const config = { url: new URL('http://storage.test/'), headers: new Headers() };
  return new GaxiosError(`status ${status}`, config, response);
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

/** Everything that code can throw and that programs are known to fail with when they print it, by name. A new value for each call. */
export const HOSTILE_ERRORS: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => Number.NaN,
  'a large integer': () => 2n ** 100_000n,
  'a symbol': () => Symbol('thrown'),
  'a function': () => fails,
  'a text of 10 MB': () => 'x'.repeat(10 * MB),
  'an object without a prototype': () => Object.create(null) as unknown,
  'an object whose texts throw': () => new Unprintable(),
  'an error with such a message': () => Object.assign(new Error('x'), { message: new Unprintable() }),
  'an error with such a code': () => Object.assign(new Error('x'), { code: new Unprintable() }),
  'an error with such a cause': () => new Error('x', { cause: new Unprintable() }),
  'an error without a prototype': () => Object.setPrototypeOf(new Error('x'), null) as unknown,
  'an error whose getters throw': withGetters,
  'an error in a cycle': cycle,
  'an error with 10,000 causes': deepCauses,
  'an error with a message of 10 MB': () => new Error('y'.repeat(10 * MB)),
  'a frozen error': () => Object.freeze(new Error('frozen')),
  'an AggregateError of 100,000 errors': () =>
    new AggregateError(Array.from({ length: 100_000 }, () => ({ message: 'one' }))),
  'an AggregateError of itself': () => {
    const error = new AggregateError([]);
    error.errors.push(error, error);
    return error;
  },
  'a Proxy whose traps throw': () => new Proxy(new Error('x'), TRAPS),
  'a revoked Proxy': revoked,
  'an array of a million': () => Array.from({ length: 1_000_000 }, () => ({})),
  'a DOMException': () => new DOMException('too late', 'TimeoutError'),
  'a GaxiosError': () => gaxiosError(),
  'an S3ServiceException': () =>
    new S3ServiceException({ name: 'SlowDown', $fault: 'server', message: 'slow', $metadata: { httpStatusCode: 503 } }),
  'an ApiException': () => new ApiException(500, 'failed', { message: 'no' }, {}),
  'an error of undici': () => new undiciErrors.ConnectTimeoutError('too late'),
  'an error of jose': () => new joseErrors.JWTExpired('expired', {}),
  'an error of fastify': () => new fastify.errorCodes.FST_ERR_CTP_BODY_TOO_LARGE(),
  'an error of ajv': () => thrownBy(() => new Ajv().compile({ type: 'nonsense' })),
  'an error of yaml': () => thrownBy(() => parse('a: [')),
};
