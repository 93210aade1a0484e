/**
 * Interprets the signature output of git (`%G?`) and gpg (status lines, a stable interface: GnuPG
 * doc/DETAILS, not translated). Pure, and the only place that parses these texts.
 */

/** One commit or tag and the state of its signature. */
export interface RevisionSignature {
  /** A commit's SHA, or the name of a tag. */
  readonly revision: string;
  readonly isTag: boolean;
  /** `Name <email>` of the author or tagger. */
  readonly author: string;
  readonly verdict: SignatureVerdict;
  /** 16-digit ID of the signing key; "" if there is none. */
  readonly key: string;
}

/** `good`, or Argo CD's words for the fault. */
export type SignatureVerdict =
  | 'good'
  | 'unsigned'
  | 'bad signature'
  | 'signed with untrusted key'
  | 'expired signature'
  | 'signed with expired key'
  | 'signed with revoked key'
  | 'signed with key not in keyring';

/** git's letters (`%G?`). */
const verdicts: Readonly<Record<string, SignatureVerdict>> = {
  G: 'good',
  B: 'bad signature',
  U: 'signed with untrusted key',
  X: 'expired signature',
  Y: 'signed with expired key',
  R: 'signed with revoked key',
  E: 'signed with key not in keyring',
  N: 'unsigned',
};

/** For `git log`: one line per commit. Names contain no line breaks and no NUL. */
export const signatureFormat = '%H%x00%G?%x00%GK%x00%an <%ae>';

/**
 * Parses `git log --format=`{@link signatureFormat}. A line of another form is an error, never a
 * good signature.
 */
export function parseSignatures(output: string): RevisionSignature[] {
  return linesOf(output).map((line) => {
    const [revision = '', letter = '', key = '', author] = line.split('\0');
    if (author === undefined || !/^[0-9a-f]{40,64}$/.test(revision))
      throw new Error('git printed something else than the signatures that it was asked for');
    return { revision, isTag: false, author, verdict: verdicts[letter] ?? 'bad signature', key };
  });
}

/** For `git log`: a commit and its seal, if any. */
export const sealFormat = '%H%x00%(trailers:key=Argocd-gpg-seal,unfold,separator=%x2C)';

/** Returns the commits whose seal vouches for all their ancestors. */
export function parseSeals(output: string): string[] {
  return linesOf(output)
    .map((line) => line.split('\0'))
    .filter(([, seal]) => (seal ?? '') !== '')
    .map(([commit]) => commit ?? '');
}

/** gpg prints exactly one of these per signature (as in git's gpg-interface.c). */
const exclusive: Readonly<Record<string, SignatureVerdict>> = {
  GOODSIG: 'good',
  BADSIG: 'bad signature',
  EXPSIG: 'expired signature',
  EXPKEYSIG: 'signed with expired key',
  REVKEYSIG: 'signed with revoked key',
  ERRSIG: 'signed with key not in keyring',
};

/**
 * Parses the gpg status lines (stderr) and exit code of `git verify-tag --raw` or `git
 * verify-commit --raw`. Good means exactly one good signature by a trusted key; anything unclear is
 * not good.
 */
export function parseStatus(result: { readonly exitCode: number | null; readonly stderr: string }): {
  readonly verdict: SignatureVerdict;
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

/** Reads the tagger from a tag object (`git cat-file tag`). */
export function taggerOf(tagObject: string): string {
  const header = tagObject.slice(0, tagObject.indexOf('\n\n') + 1);
  return /^tagger (.*) [0-9]+ [+-][0-9]{4}$/m.exec(header)?.[1] ?? '';
}

const maxProblems = 10;

/**
 * Returns Argo CD's lines for faulty signatures (util/sourceintegrity describeProblems), at most
 * ten. A key is reported once for all its commits; unsigned commits and tags are reported each.
 */
export function problemsOf(signatures: readonly RevisionSignature[], allowedKeys: readonly string[]): string[] {
  const allowed = new Set(allowedKeys.map(shortKey));
  const reported = new Set<string>();
  const problems: string[] = [];
  for (const signature of signatures) {
    const { revision, isTag, author, key } = signature;
    if (!isTag && key !== '' && reported.has(key)) continue;
    const reason = faultOf(signature, allowed);
    if (reason === undefined) continue;
    if (!isTag && key !== '') reported.add(key);
    problems.push(`Failed verifying revision ${revision} by '${author}': ${reason} (key_id=${key})`);
    if (problems.length === maxProblems) break;
  }
  return problems;
}

/** Returns undefined for a good signature by an allowed key. */
function faultOf({ verdict, key }: RevisionSignature, allowed: ReadonlySet<string>): string | undefined {
  if (verdict !== 'good') return verdict;
  return allowed.has(key) && key !== '' ? undefined : 'signed with unallowed key';
}

/** Reports whether the signature is good and by one of these keys. */
export function isTrusted(signature: RevisionSignature, allowedKeys: readonly string[]): boolean {
  return faultOf(signature, new Set(allowedKeys.map(shortKey))) === undefined;
}

/** The last 16 of a fingerprint's 40 digits are the key ID. */
function shortKey(key: string): string {
  return /^[0-9A-Fa-f]{40}$/.test(key) ? key.slice(-16) : key;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
