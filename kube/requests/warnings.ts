import { outsideText } from '#base';
import type { KubeObject } from '#model';
import { secretKind } from './answers.ts';
import type { HttpResponse } from '../transport/http-types.ts';

const maxWarnings = 20;
const warningsByObject = new WeakMap<KubeObject, readonly string[]>();

/**
 * The warnings that the server sent with this object: unknown fields, a deprecated version, a
 * policy.
 */
export function warningsOf(object: KubeObject): readonly string[] {
  return warningsByObject.get(object) ?? [];
}

/** Remembers the warnings of a response with its object. Those about a Secret may quote values. */
export function rememberWarnings(object: KubeObject, { headers }: Pick<HttpResponse, 'headers'>, kind: string): void {
  const values = [headers['warning'] ?? []].flat();
  const found = parseWarnings(values.join(', ')).map((text) => outsideText('server', text));
  if (found.length === 0) return;
  const shown = kind === secretKind ? ['the server warned about this Secret: kubectl shows the text'] : found;
  warningsByObject.set(object, [...new Set(shown)].slice(0, maxWarnings));
}

/** The texts of code 299 in a header `299 agent "text" "date", …` (RFC 7234). */
export function parseWarnings(header: string): readonly string[] {
  const found = header.matchAll(/(?:^|,)\s*(\d{3}) [^\s"]+ "((?:[^"\\]|\\.)*)"/g);
  return [...found].flatMap(([, code, text = '']) => (code === '299' ? [text.replaceAll(/\\(.)/g, '$1')] : []));
}
