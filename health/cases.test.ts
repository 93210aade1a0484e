import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { healthOf } from './index.ts';

/** Public cases of custom kinds with the status that Argo CD gives each; they lie beside the repository on machines that have them. */
const places = [process.cwd(), join(process.cwd(), '..')].map((place) => join(place, '../shared/health-cases'));
const folder = places.find((place) => existsSync(join(place, 'cases.json')));
const title =
  folder === undefined
    ? '12.6: not checked here: no folder ../shared/health-cases'
    : '12.6: at least 97 % have the status of Argo CD';

describe('the public cases of custom kinds', () => {
  (folder === undefined ? it.skip : it)(title, () => {
    const cases = JSON.parse(readFileSync(join(folder ?? '', 'cases.json'), 'utf8')) as Record<
      string,
      { status: string }
    >;
    const wrong = Object.entries(cases).flatMap(([path, { status }]) => {
      const [document] = parseYamlDocuments(readFileSync(join(folder ?? '', path), 'utf8'));
      const object = { metadata: {}, ...(document as object) } as unknown as KubeObject;
      const got = healthOf(object, defaultSettings)?.status ?? 'no check';
      return got === status ? [] : [`${path}: ${status}, but ${got}`];
    });
    process.stdout.write(
      `health cases: ${Object.keys(cases).length - wrong.length} of ${Object.keys(cases).length} equal\n`,
    );
    const most = Math.floor(Object.keys(cases).length * 0.03);
    expect(wrong.length > most ? wrong : []).toEqual([]);
  });
});
