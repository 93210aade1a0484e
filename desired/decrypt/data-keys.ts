import { isAbort, newAbortController } from '#base';
import type { DecryptionKeys } from '#model';
import { DecryptionFailed } from '../errors.ts';
import { GpgKeys } from './gpg-keys.ts';
import type { GpgKeysDeps } from './gpg-keys.ts';
import type { SopsMetadata, WrappedKey } from './sops-metadata.ts';

const ageSuffix = '.agekey';
const pgpSuffix = '.asc';

/** An age key of the Secret, and the recipient that files are encrypted for. */
interface AgeKey {
  readonly identity: string;
  readonly recipient: string;
}

/** Decrypts the data keys of files with the keys of one Secret. */
export class DataKeys {
  readonly #keys: DecryptionKeys;
  readonly #gpg: GpgKeys;
  #age: Promise<{ readonly keys: readonly AgeKey[]; readonly faults: readonly string[] }> | undefined;

  constructor(deps: GpgKeysDeps, keys: DecryptionKeys) {
    this.#keys = keys;
    this.#gpg = new GpgKeys(deps);
  }

  /** @throws DecryptionFailed, which names the keys that could decrypt it; CommandError */
  async unwrap(metadata: SopsMetadata, signal: AbortSignal): Promise<Uint8Array> {
    const { keys, faults } = await (this.#age ??= this.#ageKeys());
    const held = keys.map(({ recipient }) => recipient);
    for (const wrapped of metadata.age) {
      const key = keys.find(({ recipient }) => recipient === wrapped.recipient);
      if (key !== undefined) return unwrapByAge(wrapped, key);
    }
    const armored = this.#texts(pgpSuffix);
    if (metadata.pgp.length > 0 && armored.length > 0) {
      const fingerprints = await this.#gpg.open(armored, signal);
      held.push(...fingerprints);
      for (const { recipient, armored: message } of metadata.pgp) {
        if (!fingerprints.some((one) => one.endsWith(recipient.toUpperCase()))) continue;
        const dataKey = await this.#gpg.decrypt(message, signal);
        if (dataKey !== undefined) return dataKey;
        throw new DecryptionFailed(
          `its data key for the PGP key ${recipient} cannot be decrypted: the key has a passphrase, or the file is damaged`,
        );
      }
    }
    throw this.#noKey(metadata, held, faults);
  }

  /** Also after an abort: the keys must not stay on disk. */
  async close(): Promise<void> {
    await this.#gpg.close(newAbortController().signal);
  }

  #noKey({ age, pgp, services }: SopsMetadata, held: readonly string[], faults: readonly string[]): DecryptionFailed {
    const wanted = [
      ...age.map(({ recipient }) => `the age key ${recipient}`),
      ...pgp.map(({ recipient }) => `the PGP key ${recipient}`),
      ...services,
    ];
    const { secret } = this.#keys;
    if (age.length + pgp.length === 0)
      return new DecryptionFailed(
        `it is encrypted for ${listed(services)}: services need a config management plugin, here only age and PGP keys decrypt`,
      );
    const has = held.length === 0 ? `has no key of this kind` : `has ${listed(held)}`;
    const also = faults.length === 0 ? '' : `. ${faults.join('. ')}`;
    return new DecryptionFailed(`it is encrypted for ${listed(wanted)}, and Secret ${secret} ${has}${also}`);
  }

  async #ageKeys(): Promise<{ readonly keys: readonly AgeKey[]; readonly faults: readonly string[] }> {
    const { identityToRecipient } = await import('age-encryption');
    const keys: AgeKey[] = [];
    const faults: string[] = [];
    for (const [name, value] of Object.entries(this.#keys.entries)) {
      if (!name.endsWith(ageSuffix)) continue;
      const lines = value
        .reveal()
        .split('\n')
        .map((line) => line.trim());
      for (const identity of lines.filter((line) => line !== '' && !line.startsWith('#')))
        try {
          keys.push({ identity, recipient: await identityToRecipient(identity) });
        } catch {
          faults.push(`Its key ${name} has a line that is no age key (AGE-SECRET-KEY-1…)`);
        }
    }
    return { keys, faults };
  }

  #texts(suffix: string): readonly string[] {
    const { entries } = this.#keys;
    return Object.entries(entries).flatMap(([name, value]) => (name.endsWith(suffix) ? value.reveal() : []));
  }
}

/** @throws DecryptionFailed */
async function unwrapByAge({ recipient, armored }: WrappedKey, { identity }: AgeKey): Promise<Uint8Array> {
  const { armor, Decrypter } = await import('age-encryption');
  try {
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    return await decrypter.decrypt(armor.decode(armored));
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new DecryptionFailed(`its data key for the age key ${recipient} is damaged, or is for another key`);
  }
}

const maxListed = 10;

function listed(names: readonly string[]): string {
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  return names.slice(0, maxListed).join(', ') + more;
}
