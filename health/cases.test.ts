import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { healthOf } from './index.ts';

/**
 * Public cases of custom kinds with the status that Argo CD gives each. They lie beside the
 * repository on the machines that have them.
 */
const candidates = [process.cwd(), join(process.cwd(), '..')].map((path) => join(path, '../shared/health-cases'));
const folder = candidates.find((path) => existsSync(join(path, 'cases.json')));
const title =
  folder === undefined
    ? 'skipped, because the folder ../shared/health-cases is missing'
    : 'at least 97 % have the same status as in Argo CD';

describe('public cases of custom kinds', () => {
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
