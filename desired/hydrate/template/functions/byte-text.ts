/** The length of a text in Go. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/**
 * The bytes of a text from one to another. A character of which only a part is within them is left
 * out: Go would write text that is not UTF-8.
 */
export function cutBytes(text: string, from: number, to: number): string {
  const bytes = Buffer.from(text);
  let [start, end] = [Math.max(0, from), Math.min(bytes.length, to)];
  while (start < end && isContinuation(bytes[start])) start += 1;
  while (end > start && end < bytes.length && isContinuation(bytes[end])) end -= 1;
  return bytes.subarray(start, end).toString('utf8');
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The text without halves of surrogate pairs, which have no form in UTF-8. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\ufffd');
}
