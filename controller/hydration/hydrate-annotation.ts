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
