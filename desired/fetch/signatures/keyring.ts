import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashJson, KeyedMutex, outsideText } from '#base';
import type { Logger } from '#telemetry';
import type { CommandResult, CommandRunner } from '../../command/types.ts';
import { CommandError, DesiredError, KeyringUnavailable } from '../../errors.ts';
import { makeFolder } from '../shared/disk-failure.ts';

/** Armored public keys by 16-digit key ID, as in ConfigMap argocd-gpg-keys-cm. */
export type PublicKeys = Readonly<Record<string, string>>;

export interface KeyringDeps {
  readonly commands: CommandRunner;
  readonly cacheDir: string;
  readonly logger: Logger;
  /** Returns the configured keys; waits until they have been loaded. */
  readonly keys: (signal: AbortSignal) => Promise<PublicKeys>;
}

/** An immutable keyring on disk; changed keys produce a new one. */
export interface BuiltKeyring {
  /** GNUPGHOME. */
  readonly home: string;
  readonly version: string;
}

/** No key server and no agent: the only keys are those that an administrator configured. */
const configuration = [
  'batch',
  'no-tty',
  'no-greeting',
  'no-autostart',
  'no-auto-key-retrieve',
  'no-auto-check-trustdb',
];
const timeoutMs = 20_000;
const maxBytes = 4 * 1024 * 1024;

/**
 * Builds the gpg home with the configured keys, private to this process (Argo CD: util/gpg,
 * SyncKeyRingFromDirectory). It is built on first use and rebuilt when the keys change; leftovers
 * of an earlier process are not trusted.
 * A key whose entry is not named by its own ID is left out and logged, so all signatures made with
 * it are refused.
 */
export class Keyring {
  readonly #deps: KeyringDeps;
  readonly #root: string;
  readonly #lock = new KeyedMutex<'build'>();
  #current: BuiltKeyring | undefined;
  #previous: BuiltKeyring | undefined;
  #built = 0;

  constructor(deps: KeyringDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'gpg');
  }

  /**
   * @throws KeyringUnavailable without gpg; DesiredError, CommandError if the keyring cannot be
   * built
   */
  async ring(signal: AbortSignal): Promise<BuiltKeyring> {
    const keys = await this.#deps.keys(signal);
    const version = hashJson(keys);
    return this.#lock.run('build', signal, async () => {
      // Someone may have removed the folder: without it every signature would count as bad.
      if (this.#current?.version === version && existsSync(join(this.#current.home, 'gpg.conf'))) return this.#current;
      const ring = await this.#build(keys, version, signal);
      // Verifications in flight may still use the previous keyring, but not the one before it.
      if (this.#previous !== undefined) await rm(this.#previous.home, { recursive: true, force: true });
      this.#previous = this.#current;
      this.#current = ring;
      return ring;
    });
  }

  async #build(keys: PublicKeys, version: string, signal: AbortSignal): Promise<BuiltKeyring> {
    if (this.#current === undefined) await rm(this.#root, { recursive: true, force: true });
    this.#built += 1;
    const home = join(this.#root, String(this.#built));
    await rm(home, { recursive: true, force: true });
    await makeFolder(home);
    await writeFile(join(home, 'gpg.conf'), `${configuration.join('\n')}\n`, { mode: 0o600 });
    // An empty file keeps gpg from passing keys to a daemon.
    await writeFile(join(home, 'common.conf'), '', { mode: 0o600 });
    // Fail early without gpg, even if there are no keys.
    await this.#gpg(home, ['--version'], '', signal);
    const good = await this.#goodKeys(home, keys, signal);
    if (good.length > 0) {
      await this.#gpg(home, ['--import'], good.map(({ armored }) => armored).join('\n'), signal);
      // Every configured key is trusted ultimately (6); there is no other source of trust.
      const trust = good.map(({ fingerprint }) => `${fingerprint}:6:\n`).join('');
      await this.#gpg(home, ['--import-ownertrust'], trust, signal);
      // Once at build time, so concurrent verifications only read.
      await this.#gpg(home, ['--check-trustdb'], '', signal);
    }
    this.#deps.logger.info('Loaded the keys that verify commits', { keys: good.map(({ id }) => id) });
    return { home, version };
  }

  async #goodKeys(home: string, keys: PublicKeys, signal: AbortSignal): Promise<GoodKey[]> {
    const good: GoodKey[] = [];
    for (const [id, armored] of Object.entries(keys)) {
      const shown = await this.#run(home, ['--with-colons', '--show-keys'], armored, signal);
      const fingerprint = shown.exitCode === 0 ? onlyKey(textOf(shown), id) : undefined;
      if (fingerprint !== undefined) good.push({ id, armored, fingerprint });
      else
        this.#deps.logger.warn('An entry of ConfigMap argocd-gpg-keys-cm is ignored', {
          key: id,
          message: 'it must hold one armored public key, and be named by its ID of 16 upper-case hexadecimal digits',
        });
    }
    return good;
  }

  async #gpg(home: string, args: readonly string[], stdin: string, signal: AbortSignal): Promise<void> {
    const result = await this.#run(home, args, stdin, signal);
    if (result.exitCode === 0) return;
    const why = outsideText('program', result.stderr).trim().split('\n').at(-1) ?? '';
    throw new DesiredError('DESIRED_KEYRING', `cannot build a keyring from ConfigMap argocd-gpg-keys-cm: ${why}`);
  }

  async #run(home: string, args: readonly string[], stdin: string, signal: AbortSignal): Promise<CommandResult> {
    const env = { GNUPGHOME: home, HOME: home, LC_ALL: 'C' };
    try {
      return await this.#deps.commands.runCommand(['gpg', ...args], {
        cwd: home,
        env,
        stdin,
        timeoutMs,
        maxBytes,
        signal,
      });
    } catch (error) {
      if (error instanceof CommandError && error.code === 'COMMAND_NOT_FOUND') throw new KeyringUnavailable(error);
      throw error;
    }
  }
}

interface GoodKey {
  readonly id: string;
  readonly armored: string;
  readonly fingerprint: string;
}

/**
 * Returns the fingerprint of the single public key in the output of `gpg --with-colons
 * --show-keys`; undefined for anything else or another key ID.
 */
export function onlyKey(listing: string, id: string): string | undefined {
  const records = listing.split('\n').map((line) => line.split(':'));
  const keys = records.filter(([type]) => type === 'pub' || type === 'sec');
  const [type, , , , keyId = ''] = keys[0] ?? [];
  if (keys.length !== 1 || type !== 'pub' || keyId !== id || !/^[0-9A-F]{16}$/.test(id)) return undefined;
  // The first fingerprint is that of the primary key, the others are those of its subkeys.
  const fingerprint = records.find(([record]) => record === 'fpr')?.[9] ?? '';
  return fingerprint.endsWith(id) ? fingerprint : undefined;
}

function textOf(result: CommandResult): string {
  return Buffer.from(result.stdout).toString('utf8');
}
