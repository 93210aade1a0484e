import { valueAt } from '#base';
import { annotationOf, annotations, asObject, hydratorOf } from '#model';
import type { Application, ApplicationCondition } from '#model';

/**
 * Argo CD hydrates; this controller only compares and syncs the hydrated branch. A request for
 * hydration gets a warning that it has no effect, and stays in place for a controller that
 * hydrates.
 */
export function hydrationConditions(app: Application): readonly ApplicationCondition[] {
  const hydrator = hydratorOf(app.spec);
  const asked = hydrationRequests(app);
  if (hydrator === undefined || asked.length === 0) return [];
  const branch = JSON.stringify(valueAt(hydrator, 'syncSource', 'targetBranch') ?? '');
  const path = JSON.stringify(valueAt(hydrator, 'syncSource', 'path') ?? '');
  const message = `Hydration was requested (${asked.join(', ')}), but this controller does not hydrate: it compares and syncs branch ${branch}, path ${path}, as it is. Use another tool to write the hydrated manifests there. The request is left in place`;
  return [{ type: 'HydrationWarning', message }];
}

/** Whether the stored hydration warning is missing or out of date. */
export function isHydrationWarningOutdated(app: Application): boolean {
  const wanted = hydrationConditions(app).map(({ message }) => message);
  const stored = (app.status?.conditions ?? []).filter(({ type }) => type === 'HydrationWarning');
  return wanted.length !== stored.length || stored.some(({ message }) => !wanted.includes(message));
}

function hydrationRequests(app: Application): readonly string[] {
  const annotation = annotationOf(asObject(app), annotations.hydrate);
  const phase = valueAt(app.status?.sourceHydrator ?? {}, 'currentOperation', 'phase');
  return [
    ...(annotation === undefined ? [] : [`annotation ${annotations.hydrate}`]),
    ...(phase === 'Hydrating' ? ['status.sourceHydrator.currentOperation is Hydrating'] : []),
  ];
}
