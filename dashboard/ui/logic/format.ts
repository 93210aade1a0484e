const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? ''}`;
}

export function numberText(value: number): string {
  return Number.isInteger(value)
    ? value.toLocaleString('en')
    : value.toLocaleString('en', { maximumFractionDigits: 1 });
}

/** The last part of a URL's host and path, for narrow places. */
export function shortUrl(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\.git$/, '');
}

export function shortRevision(revision: string): string {
  return /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(revision) ? revision.slice(0, 7) : revision;
}

/** Parts of messages that many Applications share, before the one that tells them apart. */
const sharedPrefix =
  /^(?:\w+Error: )?(?:Failed to (?:load target state|compare desired state to live state): )?(?:failed to generate manifest for )?(?:rpc error: code = \w+ desc = )?/;

/** A reason without the words that all reasons of its kind begin with. */
export function tellingPart(reason: string): string {
  const rest = reason.replace(sharedPrefix, '');
  return rest === '' ? reason : rest;
}

/** The JSON text of a value as a person reads it: a string without quotes, an object on lines. */
export function prettyValue(json: string | undefined): string {
  if (json === undefined) return '';
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  } catch {
    // A text that was cut.
    return json;
  }
}
