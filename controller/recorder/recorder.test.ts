import { describe, expect, it } from '@jest/globals';
import { newAbortController } from '#base';
import type { HealthScripts } from '#model';
import { appKey } from '#model';
import { automated, configMap, stage } from '../testing/index.ts';
import { hook, job } from '../testing/manifests.ts';
import type { TestStage } from '../testing/index.ts';
import { replayRecording } from '../replay/replay-pass.ts';
import type { ReplayedPass } from '../replay/replay-pass.ts';
import type { Controller } from '../assembly/types.ts';

const key = appKey('argocd', 'demo');
const by = { version: '0.0.0', replica: 'r0' };
const { signal } = newAbortController();
const tools = {
  healthScripts: (): HealthScripts => ({ run: () => undefined }),
  jq: { answer: () => Promise.resolve() },
};

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  for (const line of lines) yield line;
}

async function replayed(lines: readonly string[]): Promise<readonly ReplayedPass[]> {
  const passes: ReplayedPass[] = [];
  for await (const item of replayRecording(each(lines), tools, signal))
    if (item.kind === 'pass') passes.push(item.pass);
  return passes;
}

/** Records from now on; `read` returns all lines so far. */
function recording(controller: Controller): () => Promise<readonly string[]> {
  const lines: string[] = [];
  let after = '';
  return async () => {
    const piece = await controller.report.recordings.read({ key, recording: 'recording', isLast: false, after }, by);
    after = piece.next;
    lines.push(...piece.lines);
    return lines;
  };
}

describe('a recording', () => {
  const at: TestStage = stage();

  it('replays a sync, its drift and its self-heal without a difference', async () => {
    at.world.git.push('sha1', [configMap('a'), configMap('b', '2')]);
    at.world.application(automated);
    const { controller } = at.world.replica();
    const read = recording(controller);
    await read();
    await at.pass(5);
    await read();
    at.world.dest.put(configMap('a', 'changed'));
    await at.pass(10);
    const passes = await replayed(await read());
    expect(passes.map(({ type }) => type)).toEqual(expect.arrayContaining(['refresh', 'operation']));
    expect(passes.flatMap(({ differences }) => differences)).toEqual([]);
    expect(passes.some(({ recorded }) => JSON.stringify(recorded).includes('"OutOfSync"'))).toBe(true);
  });

  it('replays a termination that its project no longer permits, and names the hook that may still run', async () => {
    at.world.git.push('sha1', [job('hook', hook('PreSync')), configMap('a')]);
    at.world.application({}, { operation: { sync: { revision: 'sha1' } } });
    const { controller } = at.world.replica();
    const read = recording(controller);
    await read();
    await at.pass(5);
    await read();
    at.world.hub.delete('AppProject', 'default');
    at.terminate();
    await at.pass(10);
    const passes = await replayed(await read());
    expect(passes.flatMap(({ differences }) => differences)).toEqual([]);
    expect(JSON.stringify(passes.map((pass) => pass.replayed))).toContain('its hook Job apps/hook may still run');
  });
});
