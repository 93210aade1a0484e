import { expect, it } from '@jest/globals';
import { isObject, parseJson, systemClock } from '#base';
import { fuzz } from '#support';
import { createLuaEngine } from './engine.ts';

const script =
  'hs = {}\nif obj.status ~= nil then hs.status = "Healthy" else hs.status = "Progressing" end\nhs.message = string.rep("x", 3)\nreturn hs\n';

it('any health script ends in time with a result or one of our errors', async () => {
  const engine = await createLuaEngine(systemClock, { instructions: 100_000, milliseconds: 50, memory: 4 * 2 ** 20 });
  const object = { metadata: { name: 'a' }, status: { phase: 'x', n: [1, 2.5, null] } };
  const report = await fuzz({
    name: 'a health script',
    seeds: [
      script,
      'while true do end',
      'return {status={}, message=1}',
      'return string.rep("a", 1e9)',
      'local t = {}; t.t = t; return t',
    ],
    read: (text) => engine.compile(text.toString(), true)(object),
  });
  expect(report.inputs).toBeGreaterThan(0);
}, 120_000);

it('a health script ends in time with a result or one of our errors for any object', async () => {
  const engine = await createLuaEngine(systemClock);
  const run = engine.compile(script, false);
  const report = await fuzz({
    name: 'an object for a health script',
    seeds: ['{"status":{"phase":"Running","conditions":[{"type":"Ready","n":12345678901234567890}]}}'],
    read: (text) => {
      const value = parseJson(text.toString());
      return isObject(value) ? run(value) : undefined;
    },
  });
  expect(report.inputs).toBeGreaterThan(0);
}, 120_000);
