import { DesiredError } from '../errors.ts';
import type { ManifestsRequest, RequestedSource } from '../types.ts';

/**
 * The source that `$name` refers to. Errors have Argo CD's texts (util/argo GetRefSources,
 * reposerver resolveReferencedSources).
 * @throws DesiredError
 */
export function referencedSource({ sources }: ManifestsRequest, name: string): RequestedSource {
  const candidates = sources.filter(({ source }) => (source.ref ?? '') !== '');
  const keys = referenceKeys(candidates);
  const found = candidates[keys.indexOf(name)];
  if (keys.length === 0) throw invalid(`source referenced "${name}", but no source has a 'ref' field defined`);
  if (found === undefined)
    throw invalid(`source referenced "${name}", which is not one of the available sources (${keys.sort().join(', ')})`);
  if ((found.source.chart ?? '') !== '')
    throw invalid("source has a 'chart' field defined, but Helm charts are not yet not supported for 'ref' sources");
  return found;
}

/** Checks the `ref` of every source. @throws DesiredError for one that is invalid or used twice */
export function checkReferences({ sources }: ManifestsRequest): void {
  referenceKeys(sources.filter(({ source }) => (source.ref ?? '') !== ''));
}

/** @throws DesiredError */
function referenceKeys(sources: readonly RequestedSource[]): string[] {
  for (const { source } of sources)
    if (!/^[a-zA-Z0-9_-]+$/.test(source.ref ?? ''))
      throw invalid(`sources.ref ${source.ref ?? ''} cannot contain any special characters except '_' and '-'`);
  const keys = sources.map(({ source }) => `$${source.ref ?? ''}`);
  if (new Set(keys).size < keys.length) throw invalid('invalid sources: multiple sources had the same `ref` key');
  return keys;
}

function invalid(message: string): DesiredError {
  return new DesiredError('DESIRED_SOURCE', message, { retry: 'never' });
}
