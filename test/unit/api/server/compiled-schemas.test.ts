import { Ajv } from 'ajv';
import { afterEach, expect, it, vi } from 'vitest';
import { serializerCompiler } from '../../../../src/api/server/app-serialization.ts';
import { testGateway } from '../rbac/gateway.ts';

afterEach(() => void vi.restoreAllMocks());

it('a second server compiles no schema again', async () => {
  await (await testGateway()).app.close();
  const compile = vi.spyOn(Ajv.prototype, 'compile');
  const { app, call } = await testGateway();
  expect(compile).not.toHaveBeenCalled();
  expect((await call('GET', '/roles')).status).toBe(200);
  expect((await call('GET', '/roles?unknown=1')).status).toBe(400);
  await app.close();
});

it('equal response schemas have one serializer, different ones have their own', () => {
  const route = { method: 'GET', url: '/', httpStatus: '200' };
  const schema = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } });
  const serializer = (name: string) => serializerCompiler({ ...route, schema: schema(name) });
  expect(serializer('a')).toBe(serializer('a'));
  expect(serializer('a')({ a: 'x', b: 'y' })).toBe('{"a":"x"}');
  expect(serializer('b')({ a: 'x', b: 'y' })).toBe('{"b":"y"}');
});
