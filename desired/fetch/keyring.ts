import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashJson, KeyedMutex, outsideText } from '#base';
import type { Logger } from '#telemetry';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { CommandError, DesiredError, KeyringUnavailable } from '../errors.ts';

/** Armored public keys by their ID of 16 digits, as the ConfigMap argocd-gpg-keys-cm holds them. */
export type PublicKeys = Readonly<Record<string, string>>;

export interface KeyringDeps {
  readonly commands: CommandRunner;
  readonly cacheDir: string;
  readonly logger: Logger;
  /** The keys as they are configured now; waits until they are known. */
  readonly keys: (signal: AbortSignal) => Promise<PublicKeys>;
}

/** A keyring on disk. It never changes: other keys make another one. */
export interface Ring {
  /** GNUPGHOME. */
  readonly home: string;
  readonly version: string;
}

/** Nothing is ever fetched from a key server, and no agent is started: keys are those that an administrator has configured. */
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
 * The keys that signatures are verified with, as a folder for gpg that belongs to this process alone (Argo CD: util/gpg,
 * SyncKeyRingFromDirectory). Built when it is first needed, and anew when the keys change; what an earlier process left is not trusted.
 *
 * A key whose entry is named otherwise than by its own ID is left out, with a line in the log: all signatures by it are then refused.
 */
export class Keyring {
  readonly #deps: KeyringDeps;
  readonly #root: string;
  readonly #lock = new KeyedMutex<'build'>();
  #current: Ring | undefined;
  #previous: Ring | undefined;
  #built = 0;

  constructor(deps: KeyringDeps) {
    this.#deps = deps;
    this.#root = join(deps.cacheDir, 'gpg');
  }

  /** @throws KeyringUnavailable when there is no gpg; DesiredError, CommandError when the keyring cannot be made */
  async ring(signal: AbortSignal): Promise<Ring> {
    const keys = await this.#deps.keys(signal);
    const version = hashJson(keys);
    return this.#lock.run('build', signal, async () => {
      if (this.#current?.version === version) return this.#current;
      const ring = await this.#build(keys, version, signal);
      // Somebody may still be verifying with the last one, nobody with the one before.
      if (this.#previous !== undefined) await rm(this.#previous.home, { recursive: true, force: true });
      this.#previous = this.#current;
      this.#current = ring;
      return ring;
    });
  }

  async #build(keys: PublicKeys, version: string, signal: AbortSignal): Promise<Ring> {
    if (this.#current === undefined) await rm(this.#root, { recursive: true, force: true });
    this.#built += 1;
    const home = join(this.#root, String(this.#built));
    await rm(home, { recursive: true, force: true });
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'gpg.conf'), `${configuration.join('\n')}\n`, { mode: 0o600 });
    // An empty one keeps gpg from handing keys to a daemon.
    await writeFile(join(home, 'common.conf'), '', { mode: 0o600 });
    // Also without any key: whether gpg is there must be known.
    await this.#gpg(home, ['--version'], '', signal);
    const good = await this.#goodKeys(home, keys, signal);
    if (good.length > 0) {
      await this.#gpg(home, ['--import'], good.map(({ armored }) => armored).join('\n'), signal);
      // That they are configured here is all the trust that there is.
      const trust = good.map(({ fingerprint }) => `${fingerprint}:6:\n`).join('');
      await this.#gpg(home, ['--import-ownertrust'], trust, signal);
      // Once, here: verifying only reads, also where many do it at once.
      await this.#gpg(home, ['--check-trustdb'], '', signal);
    }
    this.#deps.logger.info('The keys that commits are verified with were read', { keys: good.map(({ id }) => id) });
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
    throw new DesiredError('DESIRED_KEYRING', `cannot make a keyring of ConfigMap argocd-gpg-keys-cm: ${why}`);
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

/** The fingerprint of the one public key that `gpg --with-colons --show-keys` lists; undefined when it is not one, or has another ID. */
export function onlyKey(listing: string, id: string): string | undefined {
  const records = listing.split('\n').map((line) => line.split(':'));
  const keys = records.filter(([type]) => type === 'pub' || type === 'sec');
  const [type, , , , keyId = ''] = keys[0] ?? [];
  if (keys.length !== 1 || type !== 'pub' || keyId !== id || !/^[0-9A-F]{16}$/.test(id)) return undefined;
  // The first fingerprint is that of the key itself, the others are of its subkeys.
  const fingerprint = records.find(([record]) => record === 'fpr')?.[9] ?? '';
  return fingerprint.endsWith(id) ? fingerprint : undefined;
}

function textOf(result: CommandResult): string {
  return Buffer.from(result.stdout).toString('utf8');
}
