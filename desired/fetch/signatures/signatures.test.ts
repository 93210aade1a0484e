import { describe, expect, it } from '@jest/globals';
import { onlyKey } from './keyring.ts';
import { isTrusted, parseSeals, parseSignatures, parseStatus, problemsOf, taggerOf } from './signatures.ts';
import type { RevisionSignature, SignatureVerdict } from './signatures.ts';

const id = 'AB3F7413C4F93F4F';
const fingerprint = `5E197339A0F429453F1C8D18${id}`;
const sha = 'b627c8fe50d345e61b17c21bc8c26038f1704169';

// Output of git 2.39 and GnuPG 2.2 for `git verify-commit --raw`.
const considered = `[GNUPG:] KEY_CONSIDERED ${fingerprint} 0`;
const valid = `[GNUPG:] VALIDSIG ${fingerprint} 2026-11-22 1795323670 0 4 0 22 8 00 ${fingerprint}`;
const goodsig = `[GNUPG:] GOODSIG ${id} Ann <ann@example.com>`;
const raw = {
  good: ['[GNUPG:] NEWSIG', considered, goodsig, valid, considered, '[GNUPG:] TRUST_ULTIMATE 0 pgp'],
  undefinedTrust: ['[GNUPG:] NEWSIG', considered, goodsig, valid, considered, '[GNUPG:] TRUST_UNDEFINED 0 pgp'],
  bad: ['[GNUPG:] NEWSIG', considered, `[GNUPG:] BADSIG ${id} Ann <ann@example.com>`],
  noKey: ['[GNUPG:] NEWSIG', `[GNUPG:] ERRSIG ${id} 22 8 00 1795323670 9 ${fingerprint}`, `[GNUPG:] NO_PUBKEY ${id}`],
  expiredKey: ['[GNUPG:] NEWSIG', '[GNUPG:] KEYEXPIRED 1', `[GNUPG:] EXPKEYSIG ${id} Ann`, valid],
  expired: ['[GNUPG:] NEWSIG', `[GNUPG:] EXPSIG ${id} Ann`, valid, '[GNUPG:] TRUST_ULTIMATE 0 pgp'],
  revoked: ['[GNUPG:] NEWSIG', '[GNUPG:] KEYREVOKED', `[GNUPG:] REVKEYSIG ${id} Ann`, valid],
};

describe('git verify-commit --raw', () => {
  it.each<[string, SignatureVerdict, readonly string[], number]>([
    ['a good signature', 'good', raw.good, 0],
    ['one by a fully trusted key', 'good', [...raw.good.slice(0, -1), '[GNUPG:] TRUST_FULLY 0 pgp'], 0],
    ['a key of unknown validity, for which git exits with 0', 'signed with untrusted key', raw.undefinedTrust, 0],
    ['no word about trust', 'signed with untrusted key', raw.good.slice(0, -1), 0],
    ['content that was changed', 'bad signature', raw.bad, 1],
    ['a key that is not there', 'signed with key not in keyring', raw.noKey, 1],
    ['a key that has expired', 'signed with expired key', raw.expiredKey, 1],
    ['a signature that has expired', 'expired signature', raw.expired, 1],
    ['a key that was taken back', 'signed with revoked key', raw.revoked, 1],
    ['two signatures, both good', 'bad signature', [...raw.good, ...raw.good], 0],
    ['a bad one before a good one', 'bad signature', [...raw.bad, ...raw.good], 0],
    ['a good one that git does not accept', 'bad signature', raw.good, 1],
    ['a good one without a valid one', 'bad signature', raw.good.filter((line) => line !== valid), 0],
    ['git that was killed', 'bad signature', raw.good, -1],
  ])('%s: %s', (_name, verdict, lines, exitCode) => {
    const result = { exitCode: exitCode < 0 ? null : exitCode, stderr: `gpg: hello\n${lines.join('\n')}\n` };
    expect(parseStatus(result)).toEqual({ verdict, key: id });
  });

  it('treats empty output, and status words not at the start of a line, as unsigned', () => {
    const unsigned = { verdict: 'unsigned', key: '' };
    expect(parseStatus({ exitCode: 1, stderr: 'error: no signature found\n' })).toEqual(unsigned);
    expect(parseStatus({ exitCode: 0, stderr: '' })).toEqual(unsigned);
    expect(parseStatus({ exitCode: 0, stderr: `x ${goodsig}\n x ${valid}\n` })).toEqual(unsigned);
  });
});

describe('git log with %G?', () => {
  it.each<[string, SignatureVerdict]>([
    ['G', 'good'],
    ['B', 'bad signature'],
    ['U', 'signed with untrusted key'],
    ['X', 'expired signature'],
    ['Y', 'signed with expired key'],
    ['R', 'signed with revoked key'],
    ['E', 'signed with key not in keyring'],
    ['N', 'unsigned'],
    ['Z', 'bad signature'],
    ['', 'bad signature'],
  ])('%s: %s', (letter, verdict) => {
    expect(parseSignatures(`${sha}\0${letter}\0${id}\0Ann <a@b>\n`)).toEqual([
      { revision: sha, isTag: false, author: 'Ann <a@b>', verdict, key: id },
    ]);
  });

  it('fails on a malformed line instead of skipping a commit', () => {
    expect(() => parseSignatures(`${sha}\0G\0${id}\0Ann\nwarning: something\n`)).toThrow('something else');
    expect(() => parseSignatures(`main\0G\0${id}\0Ann\n`)).toThrow('something else');
    expect(parseSignatures('')).toEqual([]);
  });

  it('finds seals by their trailer', () => {
    expect(parseSeals(`${sha}\0\n${'c'.repeat(40)}\0Argocd-gpg-seal: x\n`)).toEqual(['c'.repeat(40)]);
  });
});

describe('problems', () => {
  const by = (verdict: SignatureVerdict, key = id, more: Partial<RevisionSignature> = {}): RevisionSignature => ({
    revision: sha,
    isTag: false,
    author: 'Ann <a@b>',
    verdict,
    key,
    ...more,
  });

  it('allow keys by ID and fingerprint, as spelled', () => {
    expect(problemsOf([by('good')], [id])).toEqual([]);
    expect(problemsOf([by('good')], ['0'.repeat(16), fingerprint])).toEqual([]);
    for (const keys of [[], [''], [id.toLowerCase()], [id.slice(-8)], [fingerprint.slice(0, 16)]])
      expect(problemsOf([by('good')], keys)).toEqual([
        `Failed verifying revision ${sha} by 'Ann <a@b>': signed with unallowed key (key_id=${id})`,
      ]);
    expect(problemsOf([by('good', '')], [''])).toHaveLength(1);
  });

  it('include a bad signature by an allowed key', () => {
    const verdicts: SignatureVerdict[] = [
      'bad signature',
      'signed with expired key',
      'signed with untrusted key',
      'unsigned',
    ];
    for (const verdict of verdicts) expect(problemsOf([by(verdict)], [id])).toHaveLength(1);
    expect([isTrusted(by('good'), [id]), isTrusted(by('bad signature'), [id]), isTrusted(by('good'), [])]).toEqual([
      ...[true, false, false],
    ]);
  });

  it('report a key once for commits, every tag and unsigned commit, at most ten', () => {
    const tag = by('bad signature', id, { isTag: true, revision: 'v1' });
    expect(problemsOf([tag, by('bad signature'), by('bad signature')], [])).toHaveLength(2);
    expect(problemsOf(Array(30).fill(by('unsigned', '')) as RevisionSignature[], [])).toHaveLength(10);
    // A good commit does not hide a bad one by the same key.
    expect(problemsOf([by('good'), by('bad signature')], [id])).toEqual([expect.stringContaining('bad signature')]);
  });
});

describe('tags and keys', () => {
  it('reads the tagger from the header only', () => {
    const tag = `object ${sha}\ntype commit\ntag v1\ntagger Ann <ann@example.com> 1795323670 +0000\n\ntagger Eve <e@e> 1 +0000\n`;
    expect(taggerOf(tag)).toBe('Ann <ann@example.com>');
    expect(taggerOf(`object ${sha}\ntype commit\ntag v1\n\ntagger Eve <e@e> 1 +0000\n`)).toBe('');
  });

  it('accepts one public key per entry, under its own ID', () => {
    const pub = `pub:-:255:22:${id}:1795323670:::-:::sc:::::ed25519:::0:`;
    const fpr = `fpr:::::::::${fingerprint}:`;
    const sub = `sub:-:255:22:0123456789ABCDEF:1:::::s::::::23:\nfpr:::::::::${'F'.repeat(40)}:`;
    expect(onlyKey(`${pub}\n${fpr}\nuid:-::::1::H::Ann::::::::::0:\n${sub}\n`, id)).toBe(fingerprint);
    expect(onlyKey(`${pub}\n${fpr}\n${pub}\n${fpr}\n`, id)).toBeUndefined();
    expect(onlyKey(`${pub.replace('pub', 'sec')}\n${fpr}\n`, id)).toBeUndefined();
    expect(onlyKey(`${pub}\n${fpr}\n`, '0123456789ABCDEF')).toBeUndefined();
    expect(onlyKey(`${pub}\n`, id)).toBeUndefined();
    expect(onlyKey('', id)).toBeUndefined();
  });
});
