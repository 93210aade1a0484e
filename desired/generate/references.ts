import { DesiredError } from '../errors.ts';
import type { ManifestsRequest, RequestedSource } from '../types.ts';

/**
 * The source that `$name` means, in Argo CD's words for what is wrong (util/argo GetRefSources, reposerver resolveReferencedSources).
 * @throws DesiredError
 */
export function referenced({ sources }: ManifestsRequest, name: string): RequestedSource {
  const known = sources.filter(({ source }) => (source.ref ?? '') !== '');
  const keys = keysOf(known);
  const found = known[keys.indexOf(name)];
  if (keys.length === 0) throw wrong(`source referenced "${name}", but no source has a 'ref' field defined`);
  if (found === undefined)
    throw wrong(`source referenced "${name}", which is not one of the available sources (${keys.sort().join(', ')})`);
  if ((found.source.chart ?? '') !== '')
    throw wrong("source has a 'chart' field defined, but Helm charts are not yet not supported for 'ref' sources");
  return found;
}

/** Names that references cannot have. @throws DesiredError */
export function checkReferences({ sources }: ManifestsRequest): void {
  keysOf(sources.filter(({ source }) => (source.ref ?? '') !== ''));
}

/** @throws DesiredError */
function keysOf(known: readonly RequestedSource[]): string[] {
  for (const { source } of known)
    if (!/^[a-zA-Z0-9_-]+$/.test(source.ref ?? ''))
      throw wrong(`sources.ref ${source.ref ?? ''} cannot contain any special characters except '_' and '-'`);
  const keys = known.map(({ source }) => `$${source.ref ?? ''}`);
  if (new Set(keys).size < keys.length) throw wrong('invalid sources: multiple sources had the same `ref` key');
  return keys;
}

function wrong(message: string): DesiredError {
  return new DesiredError('DESIRED_SOURCE', message, { retry: 'never' });
}
