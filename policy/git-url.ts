import { toLower, trimSpace } from './go-text.ts';
import { goUrl } from './go-url.ts';

/**
 * Normalizes a repository URL for comparison in project rules (Argo CD: util/git NormalizeGitURL):
 * trimmed, lower case, `user@host:path` as an ssh URL, without `.git` and `ssh://`, formatted like
 * Go's net/url. Texts that Go cannot parse become "" and so equal each other: kept, because
 * existing project rules rely on it.
 */
export function comparableUrl(url: string): string {
  const known = comparable.get(url);
  if (known !== undefined) return known;
  const found = normalizeUrl(url);
  if (comparable.size >= maxKnownUrls) comparable.clear();
  if (url.length <= maxKnownLength) comparable.set(url, found);
  return found;
}

/** Each pass compares the same few URLs. Tenants write them, so number and length are bounded. */
const comparable = new Map<string, string>();
const maxKnownUrls = 2000;
const maxKnownLength = 500;

function normalizeUrl(url: string): string {
  let text = toLower(trimSpace(url));
  if (/^(?:ssh:\/\/)?[^/:]*@[^@]+$/.test(text) && !text.startsWith('ssh://')) text = `ssh://${text.replace(':', '/')}`;
  text = text.replace(/\.git$/, '');
  return (goUrl(text) ?? '').replace(/^ssh:\/\//, '');
}
