import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';

/** A developer who signs commits with a key of their own. */
export class Signer {
  readonly keyId: string;
  readonly #home = mkdtempSync(join(tmpdir(), 'k-'));

  constructor() {
    this.#run('gpg', [...batch, '--quick-generate-key', 'Ann <ann@example.com>', 'ed25519', 'sign', 'never']);
    const keys = this.#run('gpg', [...batch, '--with-colons', '--list-keys']);
    this.keyId = /^pub:(?:[^:]*:){3}([0-9A-F]{16}):/m.exec(keys)?.[1] ?? '';
  }

  /** Writes the armored public key. */
  exportKey(path: string): void {
    writeFileSync(path, this.#run('gpg', [...batch, '--armor', '--export', this.keyId]));
  }

  /** Signs the last commit of a repository. */
  signLast(repository: string): void {
    const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', '-c', `user.signingkey=${this.keyId}`];
    this.#run('git', ['-C', repository, ...identity, 'commit', '--quiet', '--amend', '--no-edit', '-S']);
  }

  /** Ends the agent of gpg. */
  end(): void {
    spawnSync('gpgconf', ['--kill', 'all'], { env: this.#env() });
    rmSync(this.#home, { recursive: true, force: true });
  }

  #run(command: string, args: readonly string[]): string {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: this.#env() });
  }

  #env(): NodeJS.ProcessEnv {
    return { PATH: env['PATH'], HOME: this.#home, GNUPGHOME: this.#home, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
  }
}

const batch = ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', ''];
