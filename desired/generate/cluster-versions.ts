import { DesiredError, UnsafeInput } from '../errors.ts';

/**
 * The version of a cluster as helm accepts it: digits only, without a vendor's suffix (like Argo
 * CD).
 */
export function plainVersion(version: string): string {
  if (version === '') return '';
  const match = /^v?(\d+\.\d+(?:\.\d+)?)/.exec(version.trim());
  if (match?.[1] === undefined)
    throw new DesiredError('DESIRED_SOURCE', `could not parse kubernetes version ${version}`, { retry: 'never' });
  return match[1];
}

/**
 * The API versions that the source sets, otherwise those of the cluster. Helm parses
 * `--api-versions` as CSV, so commas are split here and anything with a quote is refused. A list of
 * empty texts leaves none.
 * @throws UnsafeInput
 */
export function apiVersionsOf(own: readonly string[], cluster: readonly string[]): readonly string[] {
  if (own.length === 0) return cluster.filter((version) => plainApiVersion.test(version));
  const versions = own.flatMap((version) => version.split(',')).filter((version) => version !== '');
  const bad = versions.find((version) => !plainApiVersion.test(version));
  if (bad === undefined) return versions;
  throw new UnsafeInput(`the API version ${JSON.stringify(bad)} is refused: it must be like "apps/v1/Deployment"`);
}

const plainApiVersion = /^[A-Za-z0-9][\w./-]*$/;
