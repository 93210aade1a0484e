/** @seconds 300 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import { FakeClock } from '#support';
import { runBeside } from './argo-cli/beside.ts';
import type { BesideOutcome } from './argo-cli/beside.ts';
import { differences, everywhere } from './argo-cli/differences.ts';
import { acts, play } from './argo-cli/scenario.ts';
import { Lockstep } from './argo-cli/lockstep.ts';
import type { ControllerUnderTest, Readings } from './argo-cli/lockstep.ts';
import { Stage } from './argo-cli/stage.ts';
import { normalised, operationOf } from './argo-cli/transcript.ts';
import { ArgoWorld } from './argo-cli/world.ts';
import { repository } from './rendered-controller.ts';

/** What is expected of our controller at a step. */
function expectedOf(step: string, theirs: string): string {
  const own = differences[step];
  return own === undefined ? everywhere.reduce((text, { becomes }) => becomes(text), theirs) : own.becomes(theirs);
}

function agree(step: string, readings: Readings): boolean {
  return expectedOf(step, readings['Argo CD']) === readings.Driftless;
}

/** The result of running Argo CD's controller beside ours, after all commands. */
let beside: BesideOutcome;

/** Runs all commands in both worlds at the same time. */
async function transcripts(lockstep: Lockstep): Promise<readonly Stage[]> {
  const controllers: readonly ControllerUnderTest[] = ['Argo CD', 'Driftless'];
  const worlds = await Promise.allSettled(controllers.map((controller) => ArgoWorld.start(controller)));
  try {
    const stages = controllers.map((controller, index) => {
      const world = worlds[index];
      if (world?.status !== 'fulfilled') throw world?.reason as Error;
      return new Stage(world.value, controller, lockstep);
    });
    await Promise.all(stages.map((stage) => play(stage)));
    const ours = worlds[controllers.indexOf('Driftless')];
    if (ours?.status === 'fulfilled') beside = await runBeside(ours.value);
    return stages;
  } finally {
    for (const world of worlds) if (world.status === 'fulfilled') await world.value.close();
  }
}

describe("Argo CD's CLI, API server, ApplicationSets and notifications", () => {
  let theirs: Stage;
  let ours: Stage;
  beforeAll(async () => {
    const lockstep = new Lockstep({ clock: systemClock, agree });
    [theirs, ours] = (await transcripts(lockstep)) as [Stage, Stage];
    for (const { name } of acts) {
      const seconds = [theirs, ours].map(({ took }) => Math.round((took.get(name) ?? 0) / 1000));
      process.stdout.write(
        `e2e: ${name}: ${seconds[0] ?? 0} s with Argo CD's controller, ${seconds[1] ?? 0} s with ours\n`,
      );
    }
    for (const [step, count] of lockstep.repeated)
      process.stdout.write(`e2e: ${step}: read ${count} times until both worlds agreed or the time was over\n`);
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
    const expected = [...theirs.said].map(([step, text]) => [step, expectedOf(step, text)] as const);
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
    const all = [...theirs.said.values()].join('\n');
    for (const { row, becomes } of everywhere) {
      expect([row, becomes(all)]).not.toEqual([row, all]);
      expect(page).toContain(`| ${row} | differs |`);
    }
  });

  it('a sync with slow waves waits for the first one and keeps what was applied in the results', () => {
    for (const { said } of [theirs, ours]) {
      const of = (step: string): string => said.get(step) ?? '';
      for (const title of ['created', 'updated', 'degraded'])
        expect(of(`waves ${title}, first wave`)).toMatch(
          /^Running: waiting for healthy state of apps\/Deployment\/web$/m,
        );
      for (const title of ['created', 'updated'])
        expect(of(`waves ${title}, finished`)).toMatch(/^Succeeded: successfully synced \(all tasks run\)$/m);
      expect(of('waves created, finished')).toContain('"message":"deployment.apps/web created"');
      expect(of('waves updated, finished')).toContain('"message":"deployment.apps/web configured"');
      expect(of('waves degraded, finished')).toMatch(/^Failed: one or more synchronization tasks/);
      expect(of('waves degraded, finished')).toContain('exceeded its progress deadline');
    }
  });

  it("Argo CD's controller, started beside ours, is reported by name, and the two do not fight for ever", () => {
    expect(beside.condition).toMatch(
      /writes the status of Applications .* as field manager argocd-application-controller/,
    );
    expect(beside.repaired).toEqual([true, true]);
    expect(beside.quiet).toEqual([]);
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
    expect(operationOf('TIMESTAMP\nName: argocd/a\n\nOperation: Sync\nPhase: Succeeded\n\nGROUP KIND\nb')).toBe(
      'Operation: Sync\nPhase: Succeeded',
    );
    expect(operationOf('FATA: refused')).toBe('FATA: refused');
    expect(normalised('Sync Status: OutOfSync from main (a1b2c3d)')).toContain('OutOfSync from main (a1b2c3d)');
  });
});

describe('two worlds in lockstep', () => {
  function lockstep(clock = new FakeClock()): Lockstep {
    return new Lockstep({ clock, agree: (_step, readings) => readings['Argo CD'] === readings.Driftless });
  }

  /** Reads its texts in order, and the last one again and again. */
  function reader(...texts: string[]): () => Promise<string> {
    return () => Promise.resolve((texts.length > 1 ? texts.shift() : texts[0]) ?? '');
  }

  it('both read again until they agree', async () => {
    const clock = new FakeClock();
    const both = lockstep(clock);
    const read = [
      both.read('a', 'Argo CD', reader('new', 'old', 'done')),
      both.read('a', 'Driftless', reader('old', 'new', 'done')),
    ];
    await clock.advance(1_000);
    expect(await Promise.all(read)).toEqual(['done', 'done']);
    expect([...both.repeated]).toEqual([['a', 3]]);
  });

  it('a difference that stays is returned when the time is over', async () => {
    const clock = new FakeClock();
    const both = lockstep(clock);
    const read = [both.read('a', 'Driftless', reader('ours')), both.read('a', 'Argo CD', reader('theirs'))];
    await clock.advance(90_000);
    expect(await Promise.all(read)).toEqual(['ours', 'theirs']);
  });

  it('a world whose partner stopped reads alone until the next act', async () => {
    const both = lockstep();
    const waiting = both.read('a', 'Driftless', reader('alone'));
    both.stop('Argo CD');
    expect(await waiting).toBe('alone');
    expect(await both.read('b', 'Driftless', reader('alone too'))).toBe('alone too');
    await Promise.all([both.begin('next', 'Argo CD'), both.begin('next', 'Driftless')]);
    const together = [both.read('c', 'Driftless', reader('x')), both.read('c', 'Argo CD', reader('x'))];
    expect(await Promise.all(together)).toEqual(['x', 'x']);
  });
});
