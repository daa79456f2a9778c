import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding } from './content-coding.ts';

/** In the order of preference: brotli is smaller. */
const CODINGS = ['br', 'gzip'] as const;
type StaticCoding = (typeof CODINGS)[number];
/** Shorter bodies gain nothing. */
const MIN_BYTES = 1024;

interface Variant {
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly body: Buffer;
}

/** A response that is the same for everybody. Its variants are made once, so that it costs no more than writing their bytes. */
export interface PreparedResponse {
  readonly plain: Variant;
  readonly compressed: Readonly<Partial<Record<StaticCoding, Variant>>>;
}

/**
 * @param headers with lower-case names, such as `content-type`
 * @param compressed the body in codings that exist already; the others are made here, for bodies that gain by it
 */
export async function prepareResponse(
  body: Buffer,
  headers: Readonly<Record<string, string>>,
  compressed?: Readonly<Partial<Record<StaticCoding, Buffer>>>,
): Promise<PreparedResponse> {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  const variant = (bytes: Buffer, coding?: StaticCoding): Variant => {
    const etag = `"${digest}${coding === undefined ? '' : `-${coding}`}"`;
    const encoding = coding === undefined ? {} : { 'content-encoding': coding };
    return { etag, body: bytes, headers: { ...headers, ...encoding, etag, vary: 'accept-encoding' } };
  };
  const codings = compressed ?? (body.length < MIN_BYTES ? {} : await compress(body));
  const variants = Object.entries(codings) as [StaticCoding, Buffer][];
  return {
    plain: variant(body),
    compressed: Object.fromEntries(variants.map(([coding, bytes]) => [coding, variant(bytes, coding)])),
  };
}

async function compress(body: Buffer): Promise<Record<StaticCoding, Buffer>> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const [br, gzipped] = await Promise.all([promisify(brotliCompress)(body, { params }), promisify(gzip)(body)]);
  return { br, gzip: gzipped };
}

/** Sends the variant that the client accepts, or 304 where it has this one. */
export function sendPrepared(request: FastifyRequest, reply: FastifyReply, prepared: PreparedResponse): FastifyReply {
  const accepted = request.headers['accept-encoding'];
  const coding = accepted === undefined ? undefined : acceptedCoding(accepted, CODINGS);
  const { headers, etag, body } = (coding && prepared.compressed[coding]) ?? prepared.plain;
  const isKnown = request.headers['if-none-match']?.includes(etag) === true;
  void reply.headers(headers);
  return isKnown ? reply.code(304).send() : reply.send(body);
}
