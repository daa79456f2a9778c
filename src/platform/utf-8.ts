/** Keeps a byte order mark in the text. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Either the text, or the offset of the first byte that is not UTF-8. */
export type Utf8Text =
  | { readonly text: string; readonly invalidAt?: undefined }
  | { readonly text?: undefined; readonly invalidAt: number };

/** Decodes UTF-8 strictly. A byte order mark is part of the text. */
export function decodeUtf8(bytes: Uint8Array): Utf8Text {
  try {
    return { text: UTF_8.decode(bytes) };
  } catch {
    return { invalidAt: invalidByte(bytes) };
  }
}

/** The offset of the first byte that is not UTF-8, by binary search. The bytes must contain one. */
function invalidByte(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length + 1;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    if (canBegin(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

/** Whether the bytes are a prefix of valid UTF-8: the last character may be incomplete. */
function canBegin(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
