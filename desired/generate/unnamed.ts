import type { KubeObject } from '#model';

/** An object without `metadata.name`, and the file that it comes from. */
export interface UnnamedObject {
  readonly object: KubeObject;
  readonly where: string;
}

/** The objects of a file that have no name. */
export function unnamedIn(objects: readonly KubeObject[], file: string): readonly UnnamedObject[] {
  return objects.flatMap((object, i) =>
    (object.metadata.name ?? '') === ''
      ? [{ object, where: objects.length === 1 ? file : `${file}, object ${i + 1}` }]
      : [],
  );
}
