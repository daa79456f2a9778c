import { readFile } from 'node:fs/promises';
import type { AccessSource } from '../app/parts/access-sides.ts';
import { errorMessage } from '../platform/plain-error.ts';

/** Options of all commands that read roles and policies from somewhere else than files. */
export const SOURCE_OPTIONS = {
  gateway: { type: 'string' },
  'token-file': { type: 'string' },
  'ca-file': { type: 'string' },
  kubeconfig: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
} as const;

/** The environment variable with the token for a gateway. */
export const TOKEN_VARIABLE = 'OLAP_WARDEN_TOKEN';

export const SOURCE_HELP = `  --gateway URL                base URL of a gateway
  --token-file PATH            file with the token for the gateway; otherwise ${TOKEN_VARIABLE} has it
  --ca-file PATH               PEM file of the certificate authorities of the gateway
  --kubeconfig PATH            kubeconfig of a cluster, whose current context is used
  -n, --namespace NAME         namespace of the resources: by default that of the kubeconfig, or the only one in the files`;

/** @throws {Error} usage error */
export async function gatewaySource(
  url: string,
  { 'token-file': tokenFile, 'ca-file': caFile }: { 'token-file'?: string | undefined; 'ca-file'?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Promise<AccessSource> {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/u.test(parsed.protocol))
    throw new Error(`invalid \`--gateway ${url}\`: it must be an http or https URL`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new Error('`--gateway` must have no user and password: use `--token-file`');
  const token = tokenFile === undefined ? env[TOKEN_VARIABLE] : await tokenIn(tokenFile);
  if (token === undefined || token.trim() === '')
    throw new Error(`missing the token for the gateway: \`--token-file\`, or the variable ${TOKEN_VARIABLE}`);
  return { from: 'gateway', address: { url, authorization: authorizationOf(token.trim()), caFile } };
}

async function tokenIn(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot read \`--token-file ${path}\`: ${errorMessage(error)}`, { cause: error });
  }
}

function authorizationOf(token: string): string {
  if (/[^\x20-\x7e]/u.test(token))
    throw new Error('the token for the gateway has characters that a header cannot have');
  return /^(?:Bearer|Basic) /u.test(token) ? token : `Bearer ${token}`;
}
