import { DriftlessError, isObject, ownMember, yieldToLoop } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject, SourceDecryption } from '#model';
import { CommandError, DecryptionFailed } from '../errors.ts';
import type { RenderFile } from '../render/types.ts';
import { DataKeys } from './data-keys.ts';
import type { GpgKeysDeps } from './gpg-keys.ts';
import { documentSeparator, metadataIn, sopsParts } from './sops-file.ts';
import type { SopsPart } from './sops-file.ts';
import { SopsValues } from './sops-values.ts';

const notConfigured =
  'no keys are configured for the project: name a Secret with them in the annotation driftless.io/decryption of the AppProject, or render it with a config management plugin';

/** Messages of programs are searched for each of them. */
const maxTexts = 20_000;

/**
 * Decrypts the files of one render that SOPS encrypted. The result exists only in memory and in the
 * renderer's private folder. {@link close} ends it.
 */
export class FileDecryption {
  readonly #decryption: SourceDecryption | undefined;
  readonly #keys: DataKeys | undefined;
  readonly #texts = new Set<string>();
  #hasDecrypted = false;

  constructor(deps: GpgKeysDeps, decryption: SourceDecryption | undefined) {
    this.#decryption = decryption;
    this.#keys = decryption === undefined || 'problem' in decryption ? undefined : new DataKeys(deps, decryption);
  }

  /** Whether a file was decrypted: the manifests are then not to be written to disk. */
  get hasDecrypted(): boolean {
    return this.#hasDecrypted;
  }

  /** Decrypted values, which no message may show. */
  texts(): readonly string[] {
    return [...this.#texts];
  }

  /**
   * The content of a file that a source names: decrypted if SOPS encrypted it. Without keys in the
   * project, it stays as it is; {@link refuseEncrypted} finds it in the result.
   * @throws DecryptionFailed with the path; CommandError of gpg
   */
  async content(path: string, content: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    return this.#decryption === undefined ? content : this.#decrypted(path, content, signal);
  }

  /**
   * Like {@link content} for staged files: all, or only the named ones. `isRequired`: an encrypted
   * one is never used as it is.
   */
  async staged(
    files: readonly RenderFile[],
    { named, isRequired = false }: { readonly named?: ReadonlySet<string>; readonly isRequired?: boolean },
    signal: AbortSignal,
  ): Promise<readonly RenderFile[]> {
    if (this.#decryption === undefined && !isRequired) return files;
    const result: RenderFile[] = [];
    for (const file of files) {
      const { path, content } = file;
      const shown = path.slice(path.indexOf('/') + 1);
      result.push(named?.has(path) !== false ? { path, content: await this.#decrypted(shown, content, signal) } : file);
    }
    return result;
  }

  async close(): Promise<void> {
    await this.#keys?.close();
  }

  async #decrypted(path: string, content: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    try {
      const parts = sopsParts(path, content);
      if (parts === undefined) return content;
      const plain: Buffer[] = [];
      for (const part of parts) {
        if (plain.length > 0) plain.push(Buffer.from(documentSeparator));
        plain.push('plain' in part ? part.plain : await this.#part(part, signal));
      }
      return Buffer.concat(plain);
    } catch (error) {
      if (!(error instanceof DriftlessError) || error instanceof CommandError || signal.aborted) throw error;
      throw new DecryptionFailed(`${path} is encrypted by SOPS and cannot be decrypted: ${error.message}`);
    }
  }

  async #part({ metadata, decrypt }: SopsPart, signal: AbortSignal): Promise<Buffer> {
    if (this.#keys === undefined) throw new DecryptionFailed(this.#problem());
    const values = new SopsValues(metadata, await this.#keys.unwrap(metadata, signal));
    const plain = decrypt(values);
    values.verify();
    await yieldToLoop();
    signal.throwIfAborted();
    this.#hasDecrypted = true;
    for (const text of values.texts()) if (!/^(?:|true|false)$/i.test(text)) this.#texts.add(text);
    if (this.#texts.size > maxTexts)
      throw new DecryptionFailed(`the source has more than ${maxTexts} encrypted values: split it into several`);
    return plain;
  }

  #problem(): string {
    return this.#decryption !== undefined && 'problem' in this.#decryption ? this.#decryption.problem : notConfigured;
  }
}

/** How a value that SOPS encrypted begins, also in base64. */
const ciphertext = /^(?:ENC\[AES256_GCM,data:|RU5DW0FFUzI1Nl9HQ00s)/;

/**
 * Refuses objects that SOPS encrypted, and Secrets with values that it encrypted (an item of a
 * list, a chart's values): applied as they are, they would replace their secrets by ciphertext.
 * Objects that an operator decrypts in the cluster are kept.
 * @throws DecryptionFailed
 */
export function refuseEncrypted(
  objects: readonly KubeObject[],
  decryption: SourceDecryption | undefined,
  origin: 'us' | 'repo-server' | 'user' = 'us',
): void {
  for (const object of objects) {
    if (!isEncrypted(object as unknown as JsonObject)) continue;
    const why =
      origin === 'user'
        ? 'local manifests are not decrypted'
        : decryption === undefined
          ? notConfigured
          : origin === 'us'
            ? 'only files that the source names are decrypted'
            : 'a repo-server renders the sources, and decrypts nothing without a plugin';
    throw new DecryptionFailed(
      `the ${object.kind} "${object.metadata.name ?? ''}" is encrypted by SOPS and not applied: ${why}`,
    );
  }
}

function isEncrypted(object: JsonObject): boolean {
  if (metadataIn(object) !== undefined) return true;
  if (ownMember(object, 'kind') !== 'Secret') return false;
  return ['data', 'stringData'].some((name) => {
    const values = ownMember(object, name);
    return (
      isObject(values) && Object.values(values).some((value) => typeof value === 'string' && ciphertext.test(value))
    );
  });
}
