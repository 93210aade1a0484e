import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { hashJson, SecretValue, systemClock, systemRandom } from '#base';
import type { DecryptionKeys, SourceDecryption } from '#model';
import { createInProcessRunner } from '../command/in-process.ts';
import type { CommandRunner } from '../command/types.ts';
import { FileDecryption } from '../decrypt/file-decryption.ts';

/** A file that the real sops encrypted; `decrypted` is absent if it cannot be decrypted here. */
export interface SopsTestFile {
  readonly path: string;
  readonly encrypted: string;
  readonly decrypted?: string;
}

type KeyName = 'age' | 'otherAge' | 'rsa' | 'curve';

interface SopsTestData {
  readonly keys: Readonly<Record<KeyName, string>>;
  readonly files: readonly SopsTestFile[];
}

/** Recorded by scripts/record-sops-files.mjs. */
export const sopsTestData = JSON.parse(
  readFileSync(new URL('../decrypt/testdata/sops-files.json', import.meta.url), 'utf8'),
) as SopsTestData;

export function sopsFile(path: string): SopsTestFile {
  const found = sopsTestData.files.find((file) => file.path === path);
  if (found === undefined) throw new Error(`no recorded file ${path}`);
  return found;
}

/** A Secret with some of the recorded keys. */
export function testKeys(...names: readonly KeyName[]): DecryptionKeys {
  return keysOf(
    Object.fromEntries(
      names.map((name) => [
        `${name}${name.toLowerCase().endsWith('age') ? '.agekey' : '.asc'}`,
        sopsTestData.keys[name],
      ]),
    ),
  );
}

export function keysOf(entries: Readonly<Record<string, string>>): DecryptionKeys {
  const secrets = Object.entries(entries).map(([name, text]) => [name, new SecretValue(text)] as const);
  return { secret: 'sops-keys', id: hashJson(entries), entries: Object.fromEntries(secrets) };
}

/** The content of a file after decryption. Throws if files of gpg are left. */
export async function decryptedText(
  path: string,
  content: string,
  keys: SourceDecryption | undefined,
  commands: CommandRunner = createInProcessRunner({ clock: systemClock, env }),
): Promise<string> {
  const cacheDir = mkdtempSync(join(tmpdir(), 'sops-'));
  const decryption = new FileDecryption({ commands, cacheDir, random: systemRandom }, keys);
  try {
    const { signal } = new AbortController();
    return Buffer.from(await decryption.content(path, Buffer.from(content), signal)).toString('utf8');
  } finally {
    await decryption.close();
    const left = readdirSync(cacheDir, { recursive: true }).filter((name) => name !== 'decrypt');
    rmSync(cacheDir, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`files are left: ${left.join(', ')}`);
  }
}
