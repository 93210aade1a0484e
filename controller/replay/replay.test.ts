import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isObject, newAbortController, parseJson, stringifyJson, systemClock } from '#base';
import type { Json, JsonObject } from '#base';
import { compileHealthScripts, createLuaEngine } from '#health';
import { RecordingError } from './read-recording.ts';
import type { ReplayTools } from './recorded-pass.ts';
import { replayRecording } from './replay-pass.ts';
import type { ReplayedPass } from './replay-pass.ts';

const { signal } = newAbortController();
const drift = readFileSync('test/recordings/drift.ndjson', 'utf8').trimEnd().split('\n');
const tools: ReplayTools = { healthScripts: () => ({ run: () => undefined }), jq: { answer: () => Promise.resolve() } };

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

async function replayed(lines: readonly string[], by = tools): Promise<readonly ReplayedPass[]> {
  const passes: ReplayedPass[] = [];
  for await (const item of replayRecording(each(lines), by, signal)) if (item.kind === 'pass') passes.push(item.pass);
  return passes;
}

/** The recording with one line changed. */
function changed(isIt: (line: JsonObject) => boolean, change: (line: JsonObject) => JsonObject): readonly string[] {
  let done = false;
  return drift.map((text) => {
    const line = parseJson(text) as JsonObject;
    if (done || !isIt(line)) return text;
    done = true;
    return stringifyJson(change(line));
  });
}

const ofType =
  (type: string) =>
  (line: JsonObject): boolean =>
    line['type'] === type;

describe('a replay', () => {
  it('shows a decision that was recorded otherwise, with both values', async () => {
    const isDecided = (line: JsonObject): boolean => isObject(line['decisions']) && isObject(line['decisions']['sync']);
    const lines = changed(isDecided, (line) => ({
      ...line,
      decisions: { ...(line['decisions'] as JsonObject), sync: { status: 'Mutated', revisions: [] } },
    }));
    const paths = (await replayed(lines)).flatMap(({ differences }) => differences.map(({ path }) => path));
    expect(paths).toContain('sync.status');
  });

  it('shows what follows when an input was different', async () => {
    const isConfig = (line: JsonObject): boolean =>
      isObject(line['value']) && line['value']['kind'] === 'ConfigMap' && isObject(line['value']['data']);
    const lines = changed(isConfig, (line) => ({
      ...line,
      value: { ...(line['value'] as JsonObject), data: { key: 'another value' } },
    }));
    expect((await replayed(lines)).flatMap(({ differences }) => differences)).not.toEqual([]);
  });

  it('refuses a newer format by the name of its version', async () => {
    const lines = changed(ofType('header'), (line) => ({ ...line, format: 2, version: '9.9.9' }));
    await expect(replayed(lines)).rejects.toThrow(
      /line 1: it has format 2, written by Driftless 9\.9\.9; this version reads up to format 1/,
    );
  });

  it('replays the passes before the end of a truncated recording, and names the line', async () => {
    const passes: ReplayedPass[] = [];
    const lines = [...drift.slice(0, -1), (drift.at(-1) ?? '').slice(0, 100)];
    const run = async (): Promise<void> => {
      for await (const item of replayRecording(each(lines), tools, signal))
        if (item.kind === 'pass') passes.push(item.pass);
    };
    await expect(run()).rejects.toThrow(
      new RegExp(`line ${drift.length}: it is no JSON; the recording is damaged or truncated`),
    );
    expect(passes.length).toBeGreaterThan(0);
  });

  it.each([
    ['nothing', []],
    ['no header', drift.slice(1)],
    ['another file', ['{"kind":"List"}']],
    ['a value that is missing', drift.filter((text) => !text.startsWith('{"type":"value","id":"v1"'))],
  ])('refuses %s', async (_what, lines) => {
    await expect(replayed(lines)).rejects.toBeInstanceOf(RecordingError);
  });

  it('of inputs that another hand wrote ends with the line, whatever they are', async () => {
    const wrong: readonly Json[] = [null, 5, 'text', [], {}, [[1]], { a: null }];
    const isPass = (line: JsonObject): boolean => line['type'] === 'refresh';
    const pass = parseJson(drift.find((text) => text.startsWith('{"type":"refresh"')) ?? '') as JsonObject;
    for (const name of Object.keys(pass['inputs'] as JsonObject))
      for (const value of wrong) {
        const lines = changed(isPass, (line) => ({
          ...line,
          inputs: { ...(line['inputs'] as JsonObject), [name]: value },
        }));
        const outcome = await replayed(lines).catch((error: unknown) => error);
        expect(Array.isArray(outcome) || outcome instanceof RecordingError).toBe(true);
      }
  });

  it('runs a hostile health script within its limits', async () => {
    const engine = await createLuaEngine(systemClock);
    const isSettings = (line: JsonObject): boolean => isObject(line['value']) && 'overrides' in line['value'];
    const overrides = { ConfigMap: { healthLua: 'while true do end', useOpenLibs: false, knownTypeFields: [] } };
    const lines = changed(isSettings, (line) => ({ ...line, value: { ...(line['value'] as JsonObject), overrides } }));
    const passes = await replayed(lines, { ...tools, healthScripts: (given) => compileHealthScripts(engine, given) });
    expect(passes.some(({ replayed: decided }) => stringifyJson(decided).includes('health script of ConfigMap'))).toBe(
      true,
    );
  });
});
