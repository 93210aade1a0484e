import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageOf, systemClock, systemRandom } from '#base';
import { bareRepository } from '#model';
import { FakeClock } from '#support';
import { createLogger, silentLogger } from '#telemetry';
import { CommandError, createDesiredSource, createInProcessRunner, KeyringUnavailable } from '../../index.ts';
import type { CommandRunner, DesiredSource, VerifiedRevision, VerifyRequest } from '../../index.ts';
import { currentRevision, requestOf } from '../../testing/request.ts';
import type { PublicKeys } from './keyring.ts';

const never = new AbortController().signal;
const hasGpg = spawnSync('gpg', ['--version']).status === 0;
const suite = hasGpg ? describe : describe.skip;
const title = hasGpg
  ? 'signatures by real keys'
  : 'signatures by real keys (left out: there is no gpg on PATH, install gnupg to run these)';

const folders: string[] = [];
function temporary(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  folders.push(directory);
  return directory;
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A developer with their own keyring and agent. */
class Signer {
  readonly home = mkdtempSync(join(tmpdir(), 'k-'));
  readonly ids = new Map<string, string>();

  gpg(args: readonly string[], input = ''): string {
    const all = ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '', ...args];
    return execFileSync('gpg', all, {
      encoding: 'utf8',
      input,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: env['PATH'], GNUPGHOME: this.home, LC_ALL: 'C' },
    });
  }

  create(name: string, when: readonly string[] = [], expires = 'never'): string {
    this.gpg([...when, '--quick-generate-key', `${name} <${name}@example.com>`, 'ed25519', 'sign', expires]);
    const id = /^pub:(?:[^:]*:){3}([0-9A-F]{16}):/m.exec(this.gpg(['--with-colons', '--list-keys', name]))?.[1] ?? '';
    this.ids.set(name, id);
    return id;
  }

  id(name: string): string {
    return this.ids.get(name) ?? '';
  }

  fingerprint(name: string): string {
    return /^fpr:+([0-9A-F]{40}):/m.exec(this.gpg(['--with-colons', '--list-keys', name]))?.[1] ?? '';
  }

  armored(name: string): string {
    return this.gpg(['--armor', '--export', this.id(name)]);
  }

  /** The same key after its owner revoked it. */
  revoked(name: string): string {
    const file = join(this.home, 'openpgp-revocs.d', `${this.fingerprint(name)}.rev`);
    const certificate = readFileSync(file, 'utf8').replace(/^:-----BEGIN/m, '-----BEGIN');
    const other = new Signer();
    try {
      other.gpg(['--import'], this.armored(name));
      other.gpg(['--import'], certificate);
      return other.gpg(['--armor', '--export', this.id(name)]);
    } finally {
      other.end();
    }
  }

  end(): void {
    spawnSync('gpgconf', ['--kill', 'all'], { env: { PATH: env['PATH'], GNUPGHOME: this.home } });
    rmSync(this.home, { recursive: true, force: true });
  }
}

class Repo {
  readonly path = temporary('signed-');
  readonly #signer: Pick<Signer, 'home' | 'id'>;
  #ticks = 0;

  constructor(signer: Pick<Signer, 'home' | 'id'>) {
    this.#signer = signer;
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: string[]): string {
    this.#ticks += 1;
    const date = `2026-01-01T00:${String(this.#ticks % 60).padStart(2, '0')}:00Z`;
    return execFileSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: env['PATH'],
        HOME: this.path,
        GNUPGHOME: this.#signer.home,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'Ann',
        GIT_AUTHOR_EMAIL: 'ann@example.com',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: 'Ann',
        GIT_COMMITTER_EMAIL: 'ann@example.com',
        GIT_COMMITTER_DATE: date,
      },
    }).trim();
  }

  /** A commit with one manifest, signed by this key or unsigned. */
  commit(by?: string, message = 'change'): string {
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {t: "${this.#ticks}"}\n`;
    writeFileSync(join(this.path, 'a.yaml'), text);
    this.git('add', '--all');
    this.git(
      'commit',
      '--quiet',
      '-m',
      message,
      by === undefined ? '--no-gpg-sign' : `--gpg-sign=${this.#signer.id(by)}`,
    );
    return this.git('rev-parse', 'HEAD');
  }

  tag(name: string, by?: string): void {
    const how = by === undefined ? ['-a'] : ['-s', '-u', this.#signer.id(by)];
    this.git('tag', '--force', ...how, name, '-m', name);
  }
}

interface Bench {
  readonly source: DesiredSource;
  readonly cacheDir: string;
  readonly ran: (readonly string[])[];
  keys: PublicKeys;
  readonly verify: (repo: Repo | string, more?: Partial<VerifyRequest>) => Promise<VerifiedRevision>;
}

function bench(keys: PublicKeys, options: { clock?: FakeClock; commands?: CommandRunner; log?: string[] } = {}): Bench {
  const cacheDir = temporary('cache-');
  const ran: (readonly string[])[] = [];
  const inner = options.commands ?? createInProcessRunner({ clock: systemClock, env });
  const commands: CommandRunner = {
    runCommand: (argv, more) => {
      ran.push(argv);
      return inner.runCommand(argv, more);
    },
  };
  const log = options.log;
  const logger =
    log === undefined
      ? silentLogger
      : createLogger({ level: 'info', format: 'json', destination: { write: (line: string) => void log.push(line) } });
  const clock = options.clock ?? systemClock;
  const made = { keys };
  const deps = { clock, random: systemRandom, logger, cacheDir, commands, keys: () => Promise.resolve(made.keys) };
  const source = createDesiredSource(deps);
  return Object.assign(made, {
    source,
    cacheDir,
    ran,
    verify: (repo: Repo | string, more: Partial<VerifyRequest> = {}) =>
      source.verify(
        {
          repository: bareRepository(typeof repo === 'string' ? repo : repo.path),
          revision: 'main',
          mode: 'head',
          keys: [],
          cache: currentRevision,
          ...more,
        },
        never,
      ),
  });
}

suite(title, () => {
  let signer: Signer;
  let all: PublicKeys;

  beforeAll(() => {
    signer = new Signer();
    const past = ['--faked-system-time', '20200101T000000!'];
    for (const name of ['good', 'other', 'revoked', 'stranger']) signer.create(name);
    signer.create('expired', past, '2020-02-01');
    const named = ['good', 'other', 'expired'].map((name) => [signer.id(name), signer.armored(name)]);
    named.push([signer.id('revoked'), signer.revoked('revoked')]);
    all = Object.fromEntries(named) as PublicKeys;
  });
  afterAll(() => signer.end());

  it('accepts a commit by an allowed key, by ID and by fingerprint', async () => {
    const repo = new Repo(signer);
    const commit = repo.commit('good');
    const { verify } = bench(all);
    expect(await verify(repo, { keys: [signer.id('good')] })).toEqual({ revision: commit, problems: [] });
    expect((await verify(repo, { keys: [signer.fingerprint('good')] })).problems).toEqual([]);
    expect((await verify(repo, { revision: commit, keys: [signer.id('good')] })).problems).toEqual([]);
  });

  it.each([
    ['unsigned', undefined],
    ['signed with unallowed key', 'other'],
    ['signed with key not in keyring', 'stranger'],
    ['signed with revoked key', 'revoked'],
  ])('reports a commit that is "%s"', async (reason, by) => {
    const repo = new Repo(signer);
    const commit = repo.commit(by);
    const { verify } = bench(all);
    const key = by === undefined ? '' : signer.id(by);
    // A revoked or unknown key stays bad even if it is allowed to sign.
    const keys = by === 'other' ? [signer.id('good')] : [signer.id('good'), key];
    expect((await verify(repo, { keys })).problems).toEqual([
      `Failed verifying revision ${commit} by 'Ann <ann@example.com>': ${reason} (key_id=${key})`,
    ]);
  });

  it('reports a commit by an expired key', async () => {
    const repo = new Repo(signer);
    const wrapper = join(repo.path, '.git', 'then');
    writeFileSync(wrapper, '#!/bin/sh\nexec gpg --faked-system-time 20200110T000000! "$@"\n', { mode: 0o755 });
    repo.git('config', 'gpg.program', wrapper);
    repo.commit('expired');
    const { verify } = bench(all);
    expect((await verify(repo, { keys: [signer.id('expired')] })).problems).toEqual([
      expect.stringContaining(`signed with expired key (key_id=${signer.id('expired')})`),
    ]);
  });

  it('reports a commit that was changed after signing', async () => {
    const repo = new Repo(signer);
    const commit = repo.commit('good');
    const object = repo.git('cat-file', 'commit', commit).replace('change', 'chance');
    const options = { input: `${object}\n`, encoding: 'utf8' } as const;
    const forged = execFileSync(
      'git',
      ['-C', repo.path, 'hash-object', '-w', '-t', 'commit', '--stdin'],
      options,
    ).trim();
    repo.git('update-ref', 'refs/heads/forged', forged);
    const { verify } = bench(all);
    expect((await verify(repo, { revision: 'forged', keys: [signer.id('good')] })).problems).toEqual([
      expect.stringContaining(`: bad signature (key_id=${signer.id('good')})`),
    ]);
  });

  it('treats a signature other than OpenPGP as unsigned', async () => {
    const repo = new Repo(signer);
    const key = join(repo.path, '.git', 'ssh');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    repo.git('config', 'gpg.format', 'ssh');
    repo.git('config', 'user.signingKey', key);
    writeFileSync(join(repo.path, 'a.yaml'), 'x');
    repo.git('add', '--all');
    repo.git('commit', '--quiet', '-S', '-m', 'by ssh');
    repo.git('tag', '-s', 'v1', '-m', 'v1');
    const { verify } = bench(all);
    for (const revision of ['main', 'v1'])
      expect((await verify(repo, { revision, keys: ['', signer.id('good')] })).problems).toHaveLength(1);
  });

  it('head: verifies the requested annotated tag instead of its commit', async () => {
    const repo = new Repo(signer);
    const unsigned = repo.commit();
    repo.tag('v1', 'good');
    repo.commit('good');
    repo.tag('v2');
    repo.git('tag', 'light');
    const { verify } = bench(all);
    const keys = [signer.id('good')];
    expect(await verify(repo, { revision: 'v1', keys })).toEqual({ revision: unsigned, problems: [] });
    expect((await verify(repo, { revision: 'v1', keys: [signer.id('other')] })).problems).toEqual([
      `Failed verifying revision v1 by 'Ann <ann@example.com>': signed with unallowed key (key_id=${signer.id('good')})`,
    ]);
    expect((await verify(repo, { revision: 'v2', keys })).problems).toEqual([
      "Failed verifying revision v2 by 'Ann <ann@example.com>': unsigned (key_id=)",
    ]);
    expect((await verify(repo, { revision: 'light', keys })).problems).toEqual([]);
  });

  it('head: verifies the tag for the commit that it points to, and for no other commit', async () => {
    const repo = new Repo(signer);
    const first = repo.commit();
    repo.tag('v1', 'good');
    const second = repo.commit();
    const { verify } = bench(all);
    const keys = [signer.id('good')];
    expect((await verify(repo, { revision: first, targetRevision: 'v1', keys })).problems).toEqual([]);
    expect((await verify(repo, { revision: first, keys })).problems).toHaveLength(1);
    expect((await verify(repo, { revision: first, targetRevision: 'gone', keys })).problems).toHaveLength(1);
    expect((await verify(repo, { revision: second, targetRevision: 'v1', keys })).problems).toHaveLength(1);
    const object = repo.git('rev-parse', 'v1');
    expect(await verify(repo, { revision: object, keys })).toEqual({ revision: first, problems: [] });
  });

  it('strict: verifies every ancestor, also beyond a shallow fetch', async () => {
    const repo = new Repo(signer);
    repo.commit('good');
    const hole = repo.commit();
    repo.commit('other');
    repo.commit('other');
    repo.commit('good');
    const { verify, source } = bench(all);
    const keys = [signer.id('good')];
    // Rendering fetches a single commit, which git would treat as a root.
    const spec = { repoURL: repo.path, path: '.' };
    await source.manifests(requestOf(spec, bareRepository(repo.path), { revision: 'main' }), never);
    expect((await verify(repo, { mode: 'head', keys })).problems).toEqual([]);
    expect((await verify(repo, { mode: 'strict', keys })).problems).toEqual([
      // A key is reported once.
      expect.stringContaining(`signed with unallowed key (key_id=${signer.id('other')})`),
      `Failed verifying revision ${hole} by 'Ann <ann@example.com>': unsigned (key_id=)`,
    ]);
    expect(
      (await verify(repo, { mode: 'strict', keys: [signer.id('good'), signer.id('other')] })).problems,
    ).toHaveLength(1);
    repo.commit('good');
    expect(
      (await verify(repo, { mode: 'strict', keys: [signer.id('good'), signer.id('other')] })).problems,
    ).toHaveLength(1);
  });

  it('strict: accepts a seal by an allowed key for everything before it, and no other seal', async () => {
    const repo = new Repo(signer);
    const seal = 'seal\n\nArgoCD-GPG-seal: looked through by Ann';
    repo.commit();
    repo.commit('other', seal);
    repo.commit('good');
    const { verify } = bench(all);
    const keys = [signer.id('good')];
    expect((await verify(repo, { mode: 'strict', keys })).problems).toHaveLength(2);
    repo.commit(undefined, seal);
    repo.commit('good');
    expect((await verify(repo, { mode: 'strict', keys })).problems).toHaveLength(3);
    repo.commit('good', seal);
    const head = repo.commit('good');
    expect(await verify(repo, { mode: 'strict', keys })).toEqual({ revision: head, problems: [] });
    repo.commit();
    expect((await verify(repo, { mode: 'strict', keys })).problems).toHaveLength(1);
  });

  it('strict: verifies tag and commits, accepts a root commit as a seal, reports at most ten problems', async () => {
    const repo = new Repo(signer);
    repo.commit('good', 'first\n\nArgocd-gpg-seal: from here');
    repo.commit('good');
    repo.tag('v1', 'other');
    const { verify } = bench(all);
    expect((await verify(repo, { revision: 'v1', mode: 'strict', keys: [signer.id('good')] })).problems).toEqual([
      expect.stringContaining("revision v1 by 'Ann <ann@example.com>': signed with unallowed key"),
    ]);
    const both = [signer.id('good'), signer.id('other')];
    expect((await verify(repo, { revision: 'v1', mode: 'strict', keys: both })).problems).toEqual([]);
    for (let i = 0; i < 12; i += 1) repo.commit();
    expect((await verify(repo, { mode: 'strict', keys: both })).problems).toHaveLength(10);
  });

  it('builds the keyring again after someone removed it', async () => {
    const repo = new Repo(signer);
    repo.commit('good');
    const made = bench(all);
    const request = { keys: [signer.id('good')] };
    expect((await made.verify(repo, request)).problems).toEqual([]);
    rmSync(join(made.cacheDir, 'gpg'), { recursive: true });
    repo.commit('good');
    expect((await made.verify(repo, request)).problems).toEqual([]);
  });

  it('keeps a private keyring that follows its ConfigMap and takes keys only under their own ID', async () => {
    const repo = new Repo(signer);
    repo.commit('good');
    const log: string[] = [];
    const made = bench({}, { log });
    const keys = [signer.id('good')];
    const leftOver = join(made.cacheDir, 'gpg', '1');
    mkdirSync(leftOver, { recursive: true });
    writeFileSync(join(leftOver, 'pubring.kbx'), 'from an earlier process');
    expect((await made.verify(repo, { keys })).problems).toEqual([
      expect.stringContaining('signed with key not in keyring'),
    ]);
    expect(statSync(leftOver).mode & 0o777).toBe(0o700);
    made.keys = { [signer.id('good')]: signer.armored('good') };
    expect((await made.verify(repo, { keys })).problems).toEqual([]);
    // A wrong ID, two keys in one entry, and text that is not a key.
    made.keys = {
      [signer.id('other')]: signer.armored('good'),
      [signer.id('good')]: `${signer.armored('good')}${signer.armored('other')}`,
      nonsense: 'hello',
    };
    expect((await made.verify(repo, { keys })).problems).toEqual([
      expect.stringContaining('signed with key not in keyring'),
    ]);
    expect(log.filter((line) => line.includes('argocd-gpg-keys-cm is ignored'))).toHaveLength(3);
    made.keys = all;
    expect((await made.verify(repo, { keys })).problems).toEqual([]);
    expect(readdirSync(join(made.cacheDir, 'gpg'))).toHaveLength(2);
  });

  it('caches an outcome for its TTL, but not for a hard refresh', async () => {
    const repo = new Repo(signer);
    repo.commit('good');
    const clock = new FakeClock();
    const { verify, ran } = bench(all, { clock });
    const verifications = (): number => ran.filter((argv) => argv.some((arg) => arg.includes('%G?'))).length;
    const request = { keys: [signer.id('good')] };
    await Promise.all([verify(repo, request), verify(repo, request)]);
    await verify(repo, request);
    expect(verifications()).toBe(1);
    await verify(repo, { ...request, cache: { revision: 'current', manifests: 'rerender' } });
    expect(verifications()).toBe(2);
    await clock.advance(600_001);
    await verify(repo, request);
    expect(verifications()).toBe(3);
  });

  it('uses no key server and no agent', async () => {
    const repo = new Repo(signer);
    repo.commit('stranger');
    const { verify, cacheDir } = bench(all);
    await verify(repo, { keys: [signer.id('stranger')] });
    const home = join(cacheDir, 'gpg', '1');
    expect(readFileSync(join(home, 'gpg.conf'), 'utf8')).toContain('no-auto-key-retrieve');
    expect(readdirSync(home).filter((name) => name.startsWith('S.'))).toEqual([]);
  });
});

/**
 * Replaces gpg, so machines without it test everything but the cryptography. It signs with the name
 * of a key and verifies by that name, whose first letter is git's letter for the outcome.
 */
const standIn = `#!/bin/sh
say() { printf '[GNUPG:] %s\\n' "$@"; }
case " $* " in
*' --version '* | *' --import '* | *' --import-ownertrust '* | *' --check-trustdb '*) cat > /dev/null ;;
*' --show-keys '*) id=$(sed -n 's/^KEY //p'); printf 'pub:u:255:22:%s:1\\nfpr:::::::::000000000000000000000000%s:\\n' "$id" "$id" ;;
*' -bsau '*) cat > /dev/null; for key; do :; done
  printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nKEY %s\\n-----END PGP SIGNATURE-----\\n' "$key"; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2 ;;
*' --verify '*) cat > /dev/null; for file; do case $file in /*) id=$(sed -n 's/^KEY //p' "$file") ;; esac; done
  say NEWSIG
  case $id in
  A*) say "GOODSIG $id x" "VALIDSIG $id" 'TRUST_ULTIMATE 0 pgp' ;;
  D*) say "GOODSIG $id x" "VALIDSIG $id" 'TRUST_UNDEFINED 0 pgp' ;;
  B*) say "BADSIG $id x"; exit 1 ;;
  E*) say "ERRSIG $id 22 8 00 1 9" "NO_PUBKEY $id"; exit 1 ;;
  C*) say "EXPKEYSIG $id x" "VALIDSIG $id"; exit 1 ;;
  F*) say "REVKEYSIG $id x" "VALIDSIG $id"; exit 1 ;;
  esac ;;
*) echo "not expected: $*" >&2; exit 2 ;;
esac
`;

describe('signatures by a stand-in for gpg', () => {
  const keyOf = (letter: string): string => `${letter}000000000000001`;
  const good = keyOf('A');
  let bin: string;
  let repo: Repo;
  let made: Bench;

  beforeEach(() => {
    bin = temporary('bin-');
    writeFileSync(join(bin, 'gpg'), standIn, { mode: 0o755 });
    repo = new Repo({ home: bin, id: (name) => name });
    repo.git('config', 'gpg.program', join(bin, 'gpg'));
    const commands = createInProcessRunner({
      clock: systemClock,
      env: { ...env, PATH: `${bin}:${env['PATH'] ?? ''}` },
    });
    made = bench({ [good]: `KEY ${good}\n` }, { commands });
  });

  it.each([
    ['unsigned', undefined],
    ['signed with untrusted key', keyOf('D')],
    ['bad signature', keyOf('B')],
    ['signed with key not in keyring', keyOf('E')],
    ['signed with expired key', keyOf('C')],
    ['signed with revoked key', keyOf('F')],
    ['signed with unallowed key', 'A000000000000002'],
  ])('report a commit and a tag that are "%s"', async (reason, by) => {
    const commit = repo.commit(by);
    repo.tag('v1', by);
    const keys = [good, ...(by === undefined || by.startsWith('A') ? [] : [by])];
    for (const [revision, shown] of [
      ['main', commit],
      ['v1', 'v1'],
    ] as const)
      expect((await made.verify(repo, { revision, keys })).problems).toEqual([
        `Failed verifying revision ${shown} by 'Ann <ann@example.com>': ${reason} (key_id=${by ?? ''})`,
      ]);
  });

  it('cover head, strict, a seal and a tag in place of its commit', async () => {
    repo.commit();
    repo.commit(good);
    const keys = [good];
    const problems = async (more: Partial<VerifyRequest>): Promise<number> =>
      (await made.verify(repo, { keys, ...more })).problems.length;
    expect(await problems({ mode: 'head' })).toBe(0);
    expect(await problems({ mode: 'strict' })).toBe(1);
    repo.commit(good, 'sealed\n\nArgocd-gpg-seal: yes');
    repo.commit(good);
    expect(await problems({ mode: 'strict' })).toBe(0);
    const unsigned = repo.commit();
    repo.tag('v1', good);
    expect(await problems({ mode: 'head' })).toBe(1);
    expect(await problems({ revision: 'v1' })).toBe(0);
    expect(await problems({ revision: unsigned, targetRevision: 'v1' })).toBe(0);
    expect(await problems({ revision: 'v1', mode: 'strict' })).toBe(1);
  });

  it('refuse strict mode if the remote lacks history', async () => {
    repo.commit(good);
    repo.commit(good);
    const half = temporary('half-');
    execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${repo.path}`, half], { stdio: 'ignore' });
    const request = { mode: 'strict', keys: [good] } as const;
    const error = await made.verify(half, request).catch((caught: unknown) => caught);
    expect(messageOf(error)).toContain('the repository does not have the whole history of');
  });
});

describe('without gpg', () => {
  it('reports that gpg is missing, whatever git reports', async () => {
    const inner = createInProcessRunner({ clock: systemClock, env });
    const commands: CommandRunner = {
      runCommand: (argv, options) =>
        argv[0] === 'gpg'
          ? Promise.reject(new CommandError('COMMAND_NOT_FOUND', 'cannot run gpg: it is not installed'))
          : inner.runCommand(argv, options),
    };
    const { verify } = bench({}, { commands });
    const error = await verify('/nowhere').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(KeyringUnavailable);
    expect(messageOf(error)).toContain('gpg is not installed on the machine of this controller');
  });
});
