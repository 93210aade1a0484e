import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { ApiFault, fullViewer, parseApiRequest, ReadApi } from '#api';
import type { Peers, Viewer } from '#api';
import { newAbortController, systemClock, systemRandom } from '#base';
import type { Controller, ReplayTools } from '#controller';
import type { SlotRecord } from '#sharding';
import { factsOf, ownershipOf } from '../../api/testing/index.ts';
import { automated, configMap, stage } from '../../controller/testing/index.ts';
import type { ApiReader } from '../read-api/api-reader.ts';
import { ReadApiError } from '../read-api/proxy-reader.ts';
import { readRecording } from './record.ts';
import { recordingLines } from './recording-lines.ts';
import { replayFile } from './replay.ts';

const at = stage();
const { signal } = newAbortController();
const canary = 'c4nary';
const application = { namespace: 'argocd', name: 'demo' };
const tools: ReplayTools = { healthScripts: () => ({ run: () => undefined }), jq: { answer: () => Promise.resolve() } };

function apiOf(controller: Controller, name = 'replica-0', peers: Peers = () => []): ReadApi {
  const report = { ...controller.report, isMine: () => name === 'replica-0' };
  const holders = new Map([[0, { holder: 'replica-0' } as SlotRecord]]);
  const ownership = ownershipOf(() => ({ holders }));
  return new ReadApi({
    facts: factsOf({ report }, at.clock, { name, version: '1.2.3', ownership }),
    clock: systemClock,
    peers,
  });
}

function readerOf(api: ReadApi, viewer: Viewer = fullViewer): ApiReader {
  return { get: (path) => api.answer(parseApiRequest(`/api/v1${path}`), { viewer, isPeer: false }, signal) };
}

/** A replica whose Application had a sync, drift of a Secret, and a self-heal. */
async function healed(): Promise<Controller> {
  const secret = (value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key' },
    data: { password: btoa(value) },
  });
  at.world.git.push('a'.repeat(40), [configMap('one'), secret(`${canary}-git`)]);
  at.world.application({ ...automated, source: { repoURL: `https://me:${canary}@git/x`, path: 'p' } });
  const { controller } = at.world.replica();
  await at.pass(5);
  const live = at.world.dest.get('Secret', 'key')!;
  at.world.dest.put({ ...live, data: { password: btoa(`${canary}-live`) } });
  await at.pass(5);
  return controller;
}

async function lastOf(reader: ApiReader): Promise<readonly string[]> {
  const lines: string[] = [];
  const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
  const out = (line: string): void => void lines.push(line);
  await readRecording(
    { reader, clock, random: systemRandom, out, progress: () => undefined },
    { application, isLast: true, forMs: 1 },
    signal,
  );
  return lines;
}

describe('driftless record --last and replay', () => {
  it('write the last passes without a secret, and replay them without a difference', async () => {
    const lines = await lastOf(readerOf(apiOf(await healed())));
    const text = lines.join('\n');
    expect(text).not.toMatch(new RegExp(`${canary}|${btoa(canary).slice(0, 7)}`));
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ type: 'header', version: '1.2.3', application: 'argocd/demo' });
    const shown: string[] = [];
    const context = { tools, output: { out: (line: string) => void shown.push(line) }, isJson: false };
    expect(await replayFile(recordingLines('-', Readable.from([text])), context, signal)).toBe(0);
    expect(shown.at(-1)).toBe('2 passes: this version decides 2 the same and 0 differently');
  });

  it('exit with 5 and name the decision that differs', async () => {
    const lines = await lastOf(readerOf(apiOf(await healed())));
    const text = lines
      .join('\n')
      .replaceAll('"automatedSync":{"do":"skip"', '"automatedSync":{"do":"\\u001b[2Jforged"');
    const shown: string[] = [];
    const context = { tools, output: { out: (line: string) => void shown.push(line) }, isJson: false };
    expect(await replayFile(recordingLines('-', Readable.from([text])), context, signal)).toBe(5);
    expect(shown.join('\n')).toMatch(/differs {2}automatedSync\.do: recorded "[^"]*forged", this version "skip"/);
    expect(shown.join('\n')).not.toContain('\u001b');
  });
});

describe('the page of a recording', () => {
  const path = '/api/v1/applications/argocd/demo/recording';
  const ask = (api: ReadApi, query: string, viewer: Viewer = fullViewer): Promise<unknown> =>
    (async () => api.answer(parseApiRequest(`${path}?${query}`), { viewer, isPeer: false }, signal))();

  it('needs the right to the Application', async () => {
    const nobody = { may: () => Promise.resolve(false) };
    await expect(ask(apiOf(await healed()), 'recording=abcdefgh', nobody)).rejects.toMatchObject({ status: 403 });
  });

  it('refuses a third recording, and a name that is none', async () => {
    const api = apiOf(await healed());
    await ask(api, 'recording=recording-1');
    await ask(api, 'recording=recording-2');
    await expect(ask(api, 'recording=recording-3')).rejects.toMatchObject({ status: 429 });
    await expect(ask(api, 'recording=a')).rejects.toMatchObject({ status: 400 });
    await at.clock.advance(16_000);
    expect(await ask(api, 'recording=recording-3')).toMatchObject({ kind: 'Recording' });
  });

  it('repeats lines that were not confirmed, and only those', async () => {
    const api = apiOf(await healed());
    const first = (await ask(api, 'recording=recording-1')) as {
      readonly recording: { lines: string[]; next: string };
    };
    expect(await ask(api, 'recording=recording-1')).toMatchObject({ recording: first.recording });
    const next = await ask(api, `recording=recording-1&after=${first.recording.next}`);
    expect(next).toMatchObject({ recording: { lines: [] } });
  });

  it('comes from the owner, whichever replica is asked', async () => {
    const controller = await healed();
    const owner = apiOf(controller);
    const peers: Peers = () => [
      {
        name: 'replica-0',
        ask: (target) => owner.answer(parseApiRequest(target), { viewer: fullViewer, isPeer: true }, signal),
      },
    ];
    const lines = await lastOf(readerOf(apiOf(controller, 'replica-1', peers)));
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ replica: 'replica-0' });
  });
});

describe('a recording over a hand-over', () => {
  it('waits for a replica that answers, and then goes on', async () => {
    const answers: (Error | object)[] = [
      { recording: { lines: ['{"type":"header"}'], next: 'a.1' } },
      new ReadApiError('no replica answers'),
      { recording: { lines: ['{"type":"header"}'], next: 'b.1', end: 'over' } },
    ];
    const asked: string[] = [];
    const reader: ApiReader = {
      get: (target) => {
        asked.push(new URLSearchParams(target.split('?')[1]).get('after') ?? '');
        const answer = answers.shift() ?? new ApiFault(500, 'asked too often');
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    };
    const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
    const result = await readRecording(
      { reader, clock, random: systemRandom, out: () => undefined, progress: () => undefined },
      { application, isLast: false, forMs: 1 },
      signal,
    );
    expect([asked, result.end]).toEqual([['', 'a.1', 'a.1'], 'over']);
  });
});
