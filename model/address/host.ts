/** A part of an address that has no single reading: why, as the end of a sentence. */
export interface RefusedAddress {
  readonly refused: string;
}

const dottedQuad = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * Reads a host: a name of letters, digits, dots, dashes and underscores, a dotted quad, or an IPv6
 * address in brackets. Programs disagree about all other spellings.
 */
export function readHost(text: string): string | RefusedAddress {
  if (text === '') return { refused: 'its host is missing' };
  if (text.startsWith('[')) return readLiteral(text);
  if (/[^\u0000-\u007f]/.test(text)) return { refused: 'its host has characters beyond ASCII: write its xn-- form' };
  const host = text.toLowerCase();
  const labels = host.replace(/\.$/, '').split('.');
  const isName = labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) && !/^-|-\.?$/.test(host);
  if (!isName || host.length > 253) return { refused: 'its host is not valid' };
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '') && !dottedQuad.test(host))
    return { refused: 'its host is an IP address in an unusual spelling' };
  if (host.includes('xn--') && !URL.canParse(`http://${host}/`)) return { refused: 'its host is not valid' };
  return host;
}

function readLiteral(text: string): string | RefusedAddress {
  if (text.includes('%')) return { refused: 'its host has an IPv6 zone' };
  const isLiteral = /^\[[0-9a-f:.]+\]$/i.test(text) && URL.canParse(`http://${text}/`);
  return isLiteral ? new URL(`http://${text}/`).hostname : { refused: 'its host is not valid' };
}

/** Reads a port; "" for the scheme's own one. */
export function readPort(text: string, own: string): string | RefusedAddress {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535) return { refused: 'its port is not valid' };
  return text === own ? '' : text;
}
