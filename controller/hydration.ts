import { at } from '#base';
import { annotationOf, annotations, asObject, hydratorOf } from '#model';
import type { Application, ApplicationCondition } from '#model';

/**
 * Hydration belongs to Argo CD: what is here compares and syncs the branch that it leaves behind. Where somebody asks for it all the same,
 * a warning says that nothing comes of that; the request stays where it is, for a controller that hydrates.
 */
export function hydrationConditions(app: Application): readonly ApplicationCondition[] {
  const hydrator = hydratorOf(app.spec);
  const asked = askedBy(app);
  if (hydrator === undefined || asked.length === 0) return [];
  const branch = JSON.stringify(at(hydrator, 'syncSource', 'targetBranch') ?? '');
  const path = JSON.stringify(at(hydrator, 'syncSource', 'path') ?? '');
  const message = `Hydration was asked for (${asked.join(', ')}), but this controller does not hydrate: it compares and syncs branch ${branch}, path ${path}, as it is. Let something else write the hydrated manifests there. The request is left in place`;
  return [{ type: 'HydrationWarning', message }];
}

/** Whether the warning in the status is not the one that should be there. */
export function hydrationUntold(app: Application): boolean {
  const wanted = hydrationConditions(app).map(({ message }) => message);
  const told = (app.status?.conditions ?? []).filter(({ type }) => type === 'HydrationWarning');
  return wanted.length !== told.length || told.some(({ message }) => !wanted.includes(message));
}

function askedBy(app: Application): readonly string[] {
  const annotation = annotationOf(asObject(app), annotations.hydrate);
  const phase = at(app.status?.sourceHydrator ?? {}, 'currentOperation', 'phase');
  return [
    ...(annotation === undefined ? [] : [`annotation ${annotations.hydrate}`]),
    ...(phase === 'Hydrating' ? ['status.sourceHydrator.currentOperation is Hydrating'] : []),
  ];
}
