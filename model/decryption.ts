import type { SecretValue } from '#base';

/** The keys of one Secret that decrypt the encrypted files of a project's sources. */
export interface DecryptionKeys {
  /** The name of the Secret in the controller's namespace. */
  readonly secret: string;
  /** Equal for equal content of the Secret. */
  readonly id: string;
  /** By their names, which end in `.agekey` or `.asc`. */
  readonly entries: Readonly<Record<string, SecretValue>>;
}

/** How encrypted files of a project are decrypted: with these keys, or why they are not. */
export type SourceDecryption = DecryptionKeys | { readonly problem: string };
