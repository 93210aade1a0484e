import type { JsonObject } from '#base';
import { annotationOf, annotations, asObject } from '#model';
import type { Application } from '#model';

/** A request for hydration, as found in the annotations. */
export interface HydrateAnnotation {
  readonly type: 'normal' | 'hard';
  readonly value: string;
  readonly timestamp: string | undefined;
}

/** Any value other than `hard` means normal. */
export function hydrateAnnotation(app: Application): HydrateAnnotation | undefined {
  const value = annotationOf(asObject(app), annotations.hydrate);
  if (value === undefined) return undefined;
  const timestamp = annotationOf(asObject(app), annotations.hydrateTimestamp);
  return { type: value === 'hard' ? 'hard' : 'normal', value, timestamp };
}

/** The JSON patch that removes exactly this request; a newer one stays, with its time. */
export function removeHydratePatch({ value, timestamp }: HydrateAnnotation): readonly JsonObject[] {
  const path = pointerTo(annotations.hydrate);
  const timePath = pointerTo(annotations.hydrateTimestamp);
  const timed = [
    { op: 'test', path: timePath, value: timestamp ?? '' },
    { op: 'remove', path: timePath },
  ];
  return [{ op: 'test', path, value }, ...(timestamp === undefined ? [] : timed), { op: 'remove', path }];
}

function pointerTo(annotation: string): string {
  return `/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
