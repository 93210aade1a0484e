/**
 * What git and gpg say about signatures, and what that means. Pure, and the only place that reads those texts: git's `%G?`, gpg's status
 * lines, which are an interface (GnuPG doc/DETAILS) and not translated.
 */

/** One commit or tag and the state of its signature. */
export interface Signature {
  /** A commit's SHA, or the name of a tag. */
  readonly revision: string;
  readonly isTag: boolean;
  /** `Name <email>` of the author, or of the tagger. */
  readonly author: string;
  readonly verdict: Verdict;
  /** The 16 digits of the key that signed, "" when there is none. */
  readonly key: string;
}

/** `good`, or Argo CD's words for why it is not. */
export type Verdict =
  | 'good'
  | 'unsigned'
  | 'bad signature'
  | 'signed with untrusted key'
  | 'expired signature'
  | 'signed with expired key'
  | 'signed with revoked key'
  | 'signed with key not in keyring';

/** git's letters (`%G?`). */
const verdicts: Readonly<Record<string, Verdict>> = {
  G: 'good',
  B: 'bad signature',
  U: 'signed with untrusted key',
  X: 'expired signature',
  Y: 'signed with expired key',
  R: 'signed with revoked key',
  E: 'signed with key not in keyring',
  N: 'unsigned',
};

/** For `git log`: one line a commit. Names hold no line breaks and no NUL. */
export const signatureFormat = '%H%x00%G?%x00%GK%x00%an <%ae>';

/** Reads `git log --format=`{@link signatureFormat}. A line of another form is no signature, and so an error. */
export function parseSignatures(output: string): Signature[] {
  return linesOf(output).map((line) => {
    const [revision = '', letter = '', key = '', author] = line.split('\0');
    if (author === undefined || !/^[0-9a-f]{40,64}$/.test(revision))
      throw new Error('git printed something else than the signatures that it was asked for');
    return { revision, isTag: false, author, verdict: verdicts[letter] ?? 'bad signature', key };
  });
}

/** For `git log`: a commit and its seal, if it has one. */
export const sealFormat = '%H%x00%(trailers:key=Argocd-gpg-seal,unfold,separator=%x2C)';

/** The commits that say that they vouch for all that was before them. */
export function parseSeals(output: string): string[] {
  return linesOf(output)
    .map((line) => line.split('\0'))
    .filter(([, seal]) => (seal ?? '') !== '')
    .map(([commit]) => commit ?? '');
}

/** gpg says exactly one of these about a signature (as git reads them, gpg-interface.c). */
const exclusive: Readonly<Record<string, Verdict>> = {
  GOODSIG: 'good',
  BADSIG: 'bad signature',
  EXPSIG: 'expired signature',
  EXPKEYSIG: 'signed with expired key',
  REVKEYSIG: 'signed with revoked key',
  ERRSIG: 'signed with key not in keyring',
};

/**
 * Reads `git verify-tag --raw` or `git verify-commit --raw`: gpg's status lines on stderr, and the exit code. Good is what has one good
 * signature by a trusted key and nothing else; whatever is unclear is not good.
 */
export function parseStatus(result: { readonly exitCode: number | null; readonly stderr: string }): {
  readonly verdict: Verdict;
  readonly key: string;
} {
  const lines = linesOf(result.stderr)
    .filter((line) => line.startsWith('[GNUPG:] '))
    .map((line) => line.slice('[GNUPG:] '.length).split(' '));
  const about = lines.filter(([word]) => Object.hasOwn(exclusive, word ?? ''));
  const [word = '', key = ''] = about[0] ?? [];
  if (about.length === 0) return { verdict: 'unsigned', key: '' };
  if (about.length > 1) return { verdict: 'bad signature', key };
  const verdict = exclusive[word] ?? 'bad signature';
  if (verdict !== 'good') return { verdict, key };
  const has = (wanted: string): boolean => lines.some(([first]) => first === wanted);
  if (!has('TRUST_ULTIMATE') && !has('TRUST_FULLY')) return { verdict: 'signed with untrusted key', key };
  return { verdict: result.exitCode === 0 && has('VALIDSIG') ? 'good' : 'bad signature', key };
}

/** The header of a tag object (`git cat-file tag`). */
export function taggerOf(tagObject: string): string {
  const header = tagObject.slice(0, tagObject.indexOf('\n\n') + 1);
  return /^tagger (.*) [0-9]+ [+-][0-9]{4}$/m.exec(header)?.[1] ?? '';
}

const mostProblems = 10;

/**
 * Argo CD's lines for what is not good (util/sourceintegrity describeProblems). The same key is told once for commits; unsigned commits and
 * tags are all told, up to ten.
 */
export function problemsOf(signatures: readonly Signature[], allowedKeys: readonly string[]): string[] {
  const allowed = new Set(allowedKeys.map(shortKey));
  const told = new Set<string>();
  const problems: string[] = [];
  for (const signature of signatures) {
    const { revision, isTag, author, key } = signature;
    if (!isTag && key !== '' && told.has(key)) continue;
    const reason = faultOf(signature, allowed);
    if (reason === undefined) continue;
    if (!isTag && key !== '') told.add(key);
    problems.push(`Failed verifying revision ${revision} by '${author}': ${reason} (key_id=${key})`);
    if (problems.length === mostProblems) break;
  }
  return problems;
}

/** Undefined when it is good and by a key that may sign. */
function faultOf({ verdict, key }: Signature, allowed: ReadonlySet<string>): string | undefined {
  if (verdict !== 'good') return verdict;
  return allowed.has(key) && key !== '' ? undefined : 'signed with unallowed key';
}

/** Good, and by one of these keys. */
export function isTrusted(signature: Signature, allowedKeys: readonly string[]): boolean {
  return faultOf(signature, new Set(allowedKeys.map(shortKey))) === undefined;
}

/** A fingerprint of 40 digits ends with the ID. */
function shortKey(key: string): string {
  return /^[0-9A-Fa-f]{40}$/.test(key) ? key.slice(-16) : key;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
