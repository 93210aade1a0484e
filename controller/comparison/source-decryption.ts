import type { AppProject, SourceDecryption } from '#model';
import { decryptionSecret } from '#policy';

const neverHydrated = 'hydrated manifests are pushed to Git, where they would be readable';

/**
 * How files of an Application's sources are decrypted: only by the project, which tenants cannot
 * change. Undefined: the project does not ask for it.
 * @param isDry the manifests are to be hydrated
 */
export function sourceDecryption(
  project: AppProject,
  isDry: boolean,
  keys: (secret: string) => SourceDecryption,
): SourceDecryption | undefined {
  const named = decryptionSecret(project);
  if (named === undefined || 'problem' in named) return named;
  return isDry ? { problem: neverHydrated } : keys(named.secret);
}
