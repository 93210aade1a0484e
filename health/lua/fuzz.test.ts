import { describe, expect, it } from '@jest/globals';
import { isObject, parseJson, systemClock } from '#base';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { createLuaEngine } from './engine.ts';

const script =
  'hs = {}\nif obj.status ~= nil then hs.status = "Healthy" else hs.status = "Progressing" end\nhs.message = string.rep("x", 3)\nreturn hs\n';

const object = { metadata: { name: 'a' }, status: { phase: 'x', n: [1, 2.5, null] } };
const small = createLuaEngine(systemClock, { instructions: 100_000, milliseconds: 50, memory: 4 * 2 ** 20 });
const whole = createLuaEngine(systemClock);

const targets: readonly FuzzTarget[] = [
  {
    name: 'a health script',
    seeds: [
      script,
      'while true do end',
      'return {status={}, message=1}',
      'return string.rep("a", 1e9)',
      'local t = {}; t.t = t; return t',
    ],
    read: async (text) => (await small).compile(text.toString(), true)(object),
  },
  {
    name: 'an object for a health script',
    seeds: ['{"status":{"phase":"Running","conditions":[{"type":"Ready","n":12345678901234567890}]}}'],
    read: async (text) => {
      const value = parseJson(text.toString());
      return isObject(value) ? (await whole).compile(script, false)(value) : undefined;
    },
  },
];

describe('readers of health checks', () => {
  it.each(targets)(
    '$name: ends in time, with a result or one of our errors',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
