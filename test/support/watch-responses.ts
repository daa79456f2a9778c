import './bounded-fetch.ts';
import { searchText } from './credential-search.ts';

// Set-up of tests with whole programs: searches the bodies of all error responses for credentials. A caller may get back what its request has.

const MIN_ERROR = 400;
const request = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const response = await request(input, init);
  if (response.status >= MIN_ERROR && response.body !== null) void search(input, init, response.clone());
  return response;
};

async function search(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  copy: Response,
): Promise<void> {
  // A test may cut or abort it.
  const text = await copy.text().catch(() => '');
  const address = input instanceof Request ? input.url : String(input);
  const headers = JSON.stringify([...new Headers(init?.headers)]);
  const body = typeof init?.body === 'string' ? init.body : '';
  searchText(`response ${copy.status}`, text, `${address} ${decoded(address)} ${headers} ${body}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
