import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { differences } from './argo-cli/differences.ts';
import { acts, play } from './argo-cli/scenario.ts';
import { Stage } from './argo-cli/stage.ts';
import { atRest, conclusion, normalised } from './argo-cli/transcript.ts';
import { ArgoWorld } from './argo-cli/world.ts';
import type { ControllerUnderTest } from './argo-cli/world.ts';
import { repository } from './rendered-controller.ts';

/** Runs all commands in a new world. */
async function transcriptOf(controller: ControllerUnderTest): Promise<Stage> {
  const world = await ArgoWorld.start(controller);
  try {
    const stage = new Stage(world);
    await play(stage);
    return stage;
  } finally {
    await world.close();
  }
}

describe("Argo CD's CLI, API server, ApplicationSets and notifications", () => {
  let theirs: Stage;
  let ours: Stage;
  beforeAll(async () => {
    theirs = await transcriptOf('Argo CD');
    ours = await transcriptOf('Driftless');
    for (const { name } of acts) {
      const seconds = [theirs, ours].map(({ took }) => Math.round((took.get(name) ?? 0) / 1000));
      process.stdout.write(
        `e2e: ${name}: ${seconds[0] ?? 0} s with Argo CD's controller, ${seconds[1] ?? 0} s with ours\n`,
      );
    }
  }, 1_800_000);

  it("every step ran, with Argo CD's own controller and with ours", () => {
    const stopped = (stage: Stage): readonly string[] =>
      [...stage.said].filter(([step]) => step.startsWith('stopped')).map((entry) => entry.join(': '));
    expect(stopped(theirs)).toEqual([]);
    expect(stopped(ours)).toEqual([]);
    expect([...ours.said.keys()]).toEqual([...theirs.said.keys()]);
  });

  // One test for all steps: their names are known only after the run.
  it('every command prints the same beside both controllers, except for listed differences', () => {
    const expected = [...theirs.said].map(([step, text]) => [step, differences[step]?.becomes(text) ?? text] as const);
    const different = expected.filter(([step, text]) => ours.said.get(step) !== text);
    expect(different.map(([step]) => [step, ours.said.get(step)])).toEqual(different);
  });

  it('every listed difference exists and is documented in docs/compatibility.md', () => {
    const page = readFileSync(join(repository, 'docs', 'compatibility.md'), 'utf8');
    for (const [step, { row, becomes }] of Object.entries(differences)) {
      const text = theirs.said.get(step) ?? '';
      expect([step, becomes(text)]).not.toEqual([step, text]);
      expect(page).toContain(`| ${row} | differs |`);
    }
  });

  it('`argocd admin cluster` counts the pods of both controllers', () => {
    for (const { said } of [theirs, ours]) expect(said.get('admin cluster shards')).toMatch(/^SHARD .*\n0 /m);
  });
});

describe('the transcript', () => {
  it('has random values masked and everything else unchanged', () => {
    const line =
      'apps  Deployment  guestbook  web-5d9c7b6f4-x8k2p  at 2026-11-22T12:00:00Z of http://127.0.0.1:4711/a.git';
    expect(normalised(line)).toBe('apps Deployment guestbook web-<pod> at <time> of http://<address>/a.git');
    const rows = 'GROUP KIND NAMESPACE NAME\nb\n└─ below\na\n\nafter\nbefore';
    expect(normalised(rows)).toBe('GROUP KIND NAMESPACE NAME\na\nb\n└─ below\n\nafter\nbefore');
    expect(conclusion('TIMESTAMP GROUP\nt apps\n\nName: argocd/a\nProject: b')).toBe('Name: argocd/a\nProject: b');
    const results = ['a OutOfSync Healthy deployment.apps/a configured', 'b Synced', 'c OutOfSync configmap/c pruned'];
    expect(atRest(results.join('\n'))).toBe(
      'a <applied> Healthy deployment.apps/a configured\nb Synced\nc OutOfSync configmap/c pruned',
    );
    expect(normalised('Sync Status: OutOfSync from main (a1b2c3d)')).toContain('OutOfSync from main (a1b2c3d)');
  });
});
