import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';

interface WorkflowJob {
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly with?: Readonly<Record<string, unknown>> }[];
}

const folder = '.github/workflows';
const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const [document] = parseYamlDocuments(text);
  return {
    name,
    text,
    ...(document as unknown as { readonly permissions: unknown; readonly jobs: Record<string, WorkflowJob> }),
  };
});
const linters = [['actionlint'], ['zizmor', '--offline', '--quiet', '.github'], ['hadolint', 'Dockerfile']] as const;
const isHere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

describe.each(workflows)('.github/workflows/$name', ({ text, permissions, jobs }) => {
  it('pins each action by its commit, with the version as a comment', () => {
    const uses = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(uses.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it('gives rights to single jobs, keeps no token in the checkout, and ends each job by a deadline', () => {
    expect(permissions).toEqual({});
    for (const [name, job] of Object.entries(jobs)) {
      expect({ name, permissions: job.permissions }).toMatchObject({ permissions: { contents: 'read' } });
      expect({ name, minutes: job['timeout-minutes'] }).toEqual({ name, minutes: expect.any(Number) });
      const checkouts = job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
      for (const step of checkouts) expect(step.with).toMatchObject({ 'persist-credentials': false });
    }
  });
});

describe('the linters of workflows and of the Dockerfile', () => {
  for (const [program, ...args] of linters)
    (isHere(program) ? it : it.skip)(`${program} finds nothing (skipped where it is not installed)`, () => {
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
      expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 });
    });
});
