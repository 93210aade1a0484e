import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { machineTools } from './repository.ts';
import { sopsFile, sopsTestData } from './sops-files.ts';

type Texts = Readonly<Record<string, string>>;

/**
 * Encrypts files by the real sops for the recorded age key, and decrypts them again.
 * @param options of the encryption
 */
export function encryptedBySops(
  plain: Texts,
  options: readonly string[] = [],
): { readonly encrypted: Texts; readonly decrypted: Texts } {
  const folder = mkdtempSync(join(tmpdir(), 'sops-'));
  try {
    const recipient = /age1\w+/.exec(sopsFile('regex.yaml').encrypted)?.[0] ?? '';
    const both = Object.entries(plain).map(([name, text]) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      const run = (...args: readonly string[]): string =>
        execFileSync(machineTools('sops') ?? 'sops', [...args, path], {
          encoding: 'utf8',
          env: { ...env, HOME: folder, SOPS_AGE_KEY: sopsTestData.keys.age },
        });
      const encrypted = run('--encrypt', '--age', recipient, ...options);
      writeFileSync(path, encrypted);
      return { name, encrypted, decrypted: run('--decrypt') };
    });
    return {
      encrypted: Object.fromEntries(both.map(({ name, encrypted }) => [name, encrypted])),
      decrypted: Object.fromEntries(both.map(({ name, decrypted }) => [name, decrypted])),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
