import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RandomSource } from '#base';
import { CommandError, DecryptionFailed } from '../errors.ts';
import type { CommandResult, CommandRunner } from '../command/types.ts';
import { makeFolder } from '../fetch/shared/disk-failure.ts';

export interface GpgKeysDeps {
  readonly commands: CommandRunner;
  readonly random: RandomSource;
  /** gpg's homes are created in a folder of it. */
  readonly cacheDir: string;
}

/** No terminal, no key server; the agent, which holds private keys, starts on demand. */
const configuration = ['batch', 'no-tty', 'no-greeting', 'no-auto-key-retrieve', 'no-auto-check-trustdb'];
const agentConfiguration = ['disable-scdaemon', 'default-cache-ttl 0', 'max-cache-ttl 0'];
const timeoutMs = 20_000;
const maxBytes = 256 * 1024;

/**
 * Private PGP keys in a gpg home of their own, which exists until {@link close}: gpg reads private
 * keys from files only. Not to be used by several callers at a time.
 */
export class GpgKeys {
  readonly #deps: GpgKeysDeps;
  readonly #home: string;
  #fingerprints: readonly string[] | undefined;
  #hasHome = false;

  constructor(deps: GpgKeysDeps) {
    this.#deps = deps;
    this.#home = join(gpgRoot(deps.cacheDir), deps.random.uuid());
  }

  /** Removes what an earlier process left. */
  static async clear(cacheDir: string): Promise<void> {
    await rm(gpgRoot(cacheDir), { recursive: true, force: true });
  }

  /**
   * Imports the keys of the Secret. Keys that cannot be imported are missing from the result.
   * @returns the fingerprints of all keys and subkeys
   * @throws DecryptionFailed without gpg; CommandError
   */
  async open(armored: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    if (this.#fingerprints !== undefined) return this.#fingerprints;
    this.#hasHome = true;
    await makeFolder(this.#home);
    const write = (name: string, lines: readonly string[]): Promise<void> =>
      writeFile(join(this.#home, name), lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
    await write('gpg.conf', configuration);
    await write('gpg-agent.conf', agentConfiguration);
    // An empty file keeps gpg from passing keys to another daemon.
    await write('common.conf', []);
    await this.#gpg(['--import'], armored.join('\n'), signal);
    const listed = await this.#gpg(['--with-colons', '--list-secret-keys'], '', signal);
    const records = Buffer.from(listed.stdout)
      .toString('utf8')
      .split('\n')
      .map((line) => line.split(':'));
    this.#fingerprints = records.flatMap(([type, ...fields]) => (type === 'fpr' ? (fields[8] ?? []) : []));
    return this.#fingerprints;
  }

  /** Undefined if no key can decrypt the message. */
  async decrypt(message: string, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const result = await this.#gpg(['--pinentry-mode', 'loopback', '--passphrase', '', '--decrypt'], message, signal);
    return result.exitCode === 0 ? result.stdout : undefined;
  }

  /** Ends the agent and removes the keys. */
  async close(signal: AbortSignal): Promise<void> {
    if (!this.#hasHome) return;
    try {
      await this.#run(['gpgconf', '--homedir', this.#home, '--kill', 'gpg-agent'], '', signal);
    } catch (error) {
      // Without gpg there is no agent, and the caller has failed already.
      if (!(error instanceof DecryptionFailed)) throw error;
    } finally {
      await rm(this.#home, { recursive: true, force: true });
    }
  }

  #gpg(args: readonly string[], stdin: string, signal: AbortSignal): Promise<CommandResult> {
    return this.#run(['gpg', '--homedir', this.#home, ...args], stdin, signal);
  }

  async #run(argv: readonly string[], stdin: string, signal: AbortSignal): Promise<CommandResult> {
    const env = { GNUPGHOME: this.#home, HOME: this.#home, LC_ALL: 'C' };
    try {
      return await this.#deps.commands.runCommand(argv, { cwd: this.#home, env, stdin, timeoutMs, maxBytes, signal });
    } catch (error) {
      if (error instanceof CommandError && error.code === 'COMMAND_NOT_FOUND')
        throw new DecryptionFailed('it needs a PGP key, and gpg is not installed beside the controller');
      throw error;
    }
  }
}

function gpgRoot(cacheDir: string): string {
  return join(cacheDir, 'decrypt');
}
