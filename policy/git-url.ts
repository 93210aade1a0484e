import { toLower, trimSpace } from './go-text.ts';
import { goUrl } from './go-url.ts';

/**
 * The form in which a project compares repository URLs (Argo CD: util/git NormalizeGitURL): trimmed, lower case, `user@host:path` as an
 * ssh URL, without `.git` and `ssh://`, and written as Go's net/url would write it. A text that Go cannot parse becomes "", so that two
 * such texts are equal here: kept, because project rules in the wild rely on it.
 */
export function comparableUrl(url: string): string {
  let text = toLower(trimSpace(url));
  if (/^(?:ssh:\/\/)?[^/:]*@[^@]+$/.test(text) && !text.startsWith('ssh://')) text = `ssh://${text.replace(':', '/')}`;
  text = text.replace(/\.git$/, '');
  return (goUrl(text) ?? '').replace(/^ssh:\/\//, '');
}
