import { projectOf } from '#model';
import type { Application } from '#model';
import { noTracer } from '#telemetry';
import type { Span, SpanAttributes, Tracer } from '#telemetry';

/** Names and attributes as in Argo CD, so that saved queries find the same traces. */
type PassSpanName = 'controller.Refresh' | 'controller.Operation' | 'controller.finalizeApplicationDeletion';

/** A pass to trace. `more` is evaluated only when tracing is on. */
export interface TracedPass {
  readonly name: PassSpanName;
  readonly app: Application;
  readonly more?: () => SpanAttributes;
}

/** Runs a pass in a trace of its own. */
export function tracePass<T>(
  tracer: Tracer = noTracer,
  { name, app, more }: TracedPass,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  if (!tracer.isOn) return tracer.trace(name, noAttributes, work);
  const { metadata } = app;
  const attributes = {
    'argocd.app.name': metadata.name ?? '',
    'argocd.app.namespace': metadata.namespace ?? '',
    'argocd.app.project': projectOf(app),
    ...more?.(),
  };
  return tracer.trace(name, attributes, work);
}

const noAttributes: SpanAttributes = {};
