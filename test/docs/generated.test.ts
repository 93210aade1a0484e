import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

describe('generated reference pages', () => {
  it.each([
    ['docs/options.md', 'scripts/generate/options-docs.mjs'],
    ['docs/health.md', 'scripts/generate/health-docs.mjs'],
    ['docs/metrics.md', 'scripts/generate/metrics-docs.mjs'],
  ])('%s is what %s writes', (_page, script) => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, script), '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
