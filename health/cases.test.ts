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
const skipped = 'skipped, because the folder ../shared/health-cases is missing';
/** Share of the cases that may differ. */
const allowedShare = 0.03;

interface Expected {
  readonly status: string;
  readonly message?: string;
}

/** What differs: the status, or only the message. */
function differences(directory: string): {
  readonly total: number;
  readonly status: string[];
  readonly message: string[];
} {
  const cases = JSON.parse(readFileSync(join(directory, 'cases.json'), 'utf8')) as Record<string, Expected>;
  const status: string[] = [];
  const message: string[] = [];
  for (const [path, expected] of Object.entries(cases)) {
    const [document] = parseYamlDocuments(readFileSync(join(directory, path), 'utf8'));
    const object = { metadata: {}, ...(document as object) } as unknown as KubeObject;
    const found = healthOf(object, defaultSettings);
    const [want, got] = [expected.message ?? '', found?.message ?? ''];
    if (found?.status !== expected.status)
      status.push(`${path}: ${expected.status}, but ${found?.status ?? 'no check'}`);
    else if (got !== want) message.push(`${path}: ${JSON.stringify(want)}, but ${JSON.stringify(got)}`);
  }
  return { total: Object.keys(cases).length, status, message };
}

describe('public cases of custom kinds', () => {
  (folder === undefined ? it.skip : it)(
    folder === undefined ? skipped : 'at least 97 % have the same status and message as in Argo CD',
    () => {
      const { total, status, message } = differences(folder ?? '');
      const same = total - status.length;
      process.stdout.write(
        `health cases: ${same} of ${total} have the same status, ${same - message.length} also the same message\n`,
      );
      const all = [...status, ...message];
      expect(all.length > total * allowedShare ? all : []).toEqual([]);
    },
  );
});
