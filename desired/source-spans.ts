import { outsideText } from '#base';
import { noTracer } from '#telemetry';
import type { Tracer } from '#telemetry';
import type { RequestedSource, SourceManifests } from './types.ts';

/** Traces how the manifests of one source are made. Names and attributes as in Argo CD. */
export function traceSource(
  tracer: Tracer = noTracer,
  { source, revision }: RequestedSource,
  index: number,
  work: () => Promise<SourceManifests>,
): Promise<SourceManifests> {
  if (!tracer.isOn) return work();
  const attributes = {
    'argocd.source.index': index,
    'argocd.source.name': source.name ?? '',
    'argocd.source.repo_url': outsideText('url', source.repoURL),
    'argocd.revision': revision,
  };
  return tracer.span('controller.GetRepoObjs.source', attributes, async (span) => {
    const manifests = await work();
    span.set({ 'argocd.resolved_revision': manifests.revision, 'argocd.source.type': manifests.sourceType });
    return manifests;
  });
}
