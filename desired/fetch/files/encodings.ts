/** Encodings of the attribute `working-tree-encoding` that files are converted to. */
const encoders: Readonly<Record<string, (text: string) => Buffer | undefined>> = {
  UTF16: (text) => utf16le(`\ufeff${text}`),
  UTF16LE: utf16le,
  UTF16BE: (text) => utf16le(text).swap16(),
  UTF16LEBOM: (text) => utf16le(`\ufeff${text}`),
  UTF16BEBOM: (text) => utf16le(`\ufeff${text}`).swap16(),
  UTF32: (text) => utf32le(`\ufeff${text}`),
  UTF32LE: utf32le,
  UTF32BE: (text) => utf32le(text).swap32(),
  LATIN1: (text) => singleBytes(text, 0xff),
  USASCII: (text) => singleBytes(text, 0x7f),
};

const otherNames: Readonly<Record<string, string>> = {
  ISO88591: 'LATIN1',
  ISO_88591: 'LATIN1',
  ASCII: 'USASCII',
};

function encoderOf(encoding: string): ((text: string) => Buffer | undefined) | undefined {
  const name = encoding.toUpperCase().replaceAll('-', '');
  const known = otherNames[name] ?? name;
  return Object.hasOwn(encoders, known) ? encoders[known] : undefined;
}

export function isKnownEncoding(encoding: string): boolean {
  return encoderOf(encoding) !== undefined;
}

/** Encodes UTF-8 bytes. Git leaves a file as it is if its text cannot be encoded. */
export function encodedText(bytes: Buffer, encoding: string): Buffer {
  if (bytes.length === 0) return bytes;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return encoderOf(encoding)?.(text) ?? bytes;
  } catch {
    return bytes;
  }
}

function utf16le(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

function utf32le(text: string): Buffer {
  const bytes = Buffer.alloc(text.length * 4);
  let at = 0;
  for (const letter of text) at = bytes.writeUInt32LE(letter.codePointAt(0) ?? 0, at);
  return bytes.subarray(0, at);
}

function singleBytes(text: string, last: number): Buffer | undefined {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > last) return undefined;
  return Buffer.from(text, 'latin1');
}
