import { valueAt } from '#base';
import { annotationOf, annotations, asObject, hydratorOf } from '#model';
import type { Application, ApplicationCondition } from '#model';

/**
 * Without --hydrator-enabled, the hydrated branch is only compared and synced. A request for
 * hydration then gets a warning that it has no effect, and stays in place for a controller that
 * hydrates.
 */
export function hydrationConditions(app: Application, hydrates = false): readonly ApplicationCondition[] {
  const hydrator = hydratorOf(app.spec);
  const asked = hydrationRequests(app);
  if (hydrates || hydrator === undefined || asked.length === 0) return [];
  const branch = JSON.stringify(valueAt(hydrator, 'syncSource', 'targetBranch') ?? '');
  const path = JSON.stringify(valueAt(hydrator, 'syncSource', 'path') ?? '');
  const message = `Hydration was requested (${asked.join(', ')}), but hydration is off: this controller compares and syncs branch ${branch}, path ${path}, as it is. Start it with --hydrator-enabled, or write the hydrated manifests with another tool. The request is left in place`;
  return [{ type: 'HydrationWarning', message }];
}

/** Whether the stored hydration warning is missing or out of date. */
export function isHydrationWarningOutdated(app: Application, hydrates: boolean): boolean {
  const wanted = hydrationConditions(app, hydrates).map(({ message }) => message);
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
