import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { annotationOf, annotations } from '#model';
import { objectsOf } from './generate/documents.ts';

const examples = join(import.meta.dirname, '..', 'examples');

function objectsIn(directory: string): KubeObject[] {
  const files = readdirSync(join(examples, directory), { recursive: true, encoding: 'utf8' })
    .map((name) => join(examples, directory, name))
    .filter((path) => path.endsWith('.yaml') && statSync(path).isFile())
    .sort();
  return files.flatMap((path) =>
    objectsOf({ path: relative(examples, path), name: path, content: readFileSync(path) }),
  );
}

/**
 * The demo promises that these applications are Synced and Healthy. Faults should fail here, not
 * there.
 */
describe('the sample applications', () => {
  it.each([
    ['guestbook', 5],
    ['waves', 8],
    ['platform', 12],
    ['tiny', 1],
  ])('%s holds %d objects, each once, none with a namespace of its own', (directory, count) => {
    const objects = objectsIn(directory);
    expect(objects).toHaveLength(count);
    const keys = objects.map((o) => `${o.apiVersion}/${o.kind}/${o.metadata.name ?? ''}`);
    expect(new Set(keys).size).toBe(count);
    for (const object of objects) expect(object.metadata.namespace).toBeUndefined();
  });

  it('selects the pods that its templates make', () => {
    for (const object of ['guestbook', 'waves', 'platform'].flatMap(objectsIn)) {
      const spec = object['spec'] as
        { selector?: { matchLabels?: object }; template?: { metadata: { labels: object } } } | undefined;
      if (spec?.template === undefined || spec.selector?.matchLabels === undefined) continue;
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    }
  });

  it('orders the shop by waves', () => {
    const waves = objectsIn('waves').map((o) => Number(annotationOf(o, annotations.syncWave)));
    expect(waves).toEqual([...waves].sort((a, b) => a - b));
    expect(new Set(waves)).toEqual(new Set([-1, 0, 1, 2, 3]));
  });
});
