import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type TokenBeingSigned } from 'oidc-provider';
import { once } from './once.ts';

/** A signing key of an issuer, with its private part. */
export async function signingKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

export interface IssuerUser {
  readonly email: string;
  readonly verified: boolean;
  /** Names, or what a test has an issuer say instead. */
  readonly groups?: unknown;
  /** Further claims. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A real OpenID Connect issuer on a free port, which stays the same when its keys are replaced. */
export class OidcIssuer {
  readonly url: string;
  readonly #port: number;
  #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(keys: readonly JWK[]): Promise<OidcIssuer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = new OidcIssuer(server, (server.address() as AddressInfo).port);
    issuer.#serve(keys);
    return issuer;
  }

  /** Replaces the keys, as in a rotation. */
  async rotate(keys: readonly JWK[]): Promise<void> {
    await this.stop();
    this.#server = createServer().listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#serve(keys);
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** An access token of the client `app` by client credentials, a JWT. @param seconds how long it is valid */
  async token(options: { audience?: string; seconds?: number; user?: IssuerUser } = {}): Promise<string> {
    const { audience = 'olap-warden', seconds = 300, user } = options;
    const resource = new URL('urn:token');
    resource.search = new URLSearchParams({
      audience,
      seconds: String(seconds),
      ...(user && { user: JSON.stringify(user) }),
    }).toString();
    const answer = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('app:secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'api', resource: resource.toString() }),
    });
    const body = (await answer.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`the issuer gave no token: ${JSON.stringify(body)}`);
    return body.access_token;
  }

  #serve(keys: readonly JWK[]): void {
    const provider = new Provider(this.url, configuration(keys));
    this.#server.on('request', provider.callback());
  }
}

/** The requested resource encodes the audience, the validity and the user's claims. */
function configuration(keys: readonly JWK[]): object {
  const parameters = (resource: string): URLSearchParams => new URL(resource).searchParams;
  return {
    jwks: { keys: [...keys] },
    clients: [
      {
        client_id: 'app',
        client_secret: 'secret',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:token',
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'api',
          audience: parameters(resource).get('audience') ?? 'olap-warden',
          accessTokenFormat: 'jwt',
          accessTokenTTL: Number(parameters(resource).get('seconds') ?? 300),
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    formats: {
      customizers: {
        jwt(_context: unknown, token: TokenBeingSigned, parts: { payload: object }) {
          const text = parameters(token.resourceServer?.identifier() ?? 'urn:token').get('user');
          if (text !== null) {
            const user = JSON.parse(text) as IssuerUser;
            Object.assign(parts.payload, {
              email: user.email,
              email_verified: user.verified,
              groups: user.groups ?? [],
              ...user.claims,
            });
          }
          return parts;
        },
      },
    },
  };
}
