import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compileHealthScripts, createLuaEngine, defaultLuaLimits, healthOf } from './index.ts';
import type { LuaEngine } from './index.ts';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceOverride, Settings } from '#model';

/** Time stands still, so runs end by counted instructions, not by measured time. */
const still = { now: () => Date.UTC(2026, 0, 2), monotonic: () => 0 };
const limits = { ...defaultLuaLimits, instructions: 300_000, memory: 12 * 2 ** 20 };
let engine: LuaEngine;
beforeAll(async () => {
  engine = await createLuaEngine(still, limits);
});

const script = (healthLua: string, useOpenLibs = false): ResourceOverride => ({
  healthLua,
  useOpenLibs,
  knownTypeFields: [],
});
function settingsOf(
  overrides: Settings['overrides'],
  folder: Parameters<typeof compileHealthScripts>[2] = [],
): Settings {
  return { ...defaultSettings, overrides, healthScripts: compileHealthScripts(engine, overrides, folder) };
}
const thing = (parts: object = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'n' },
  ...parts,
});
const run = (text: string, { open = true, parts = {} }: { open?: boolean; parts?: object } = {}) =>
  healthOf(thing(parts), settingsOf({ 'example.com/Thing': script(text, open) }));
const healthy = (message: string) => ({ status: 'Healthy', message });
const returning = (expression: string): string => `return {status = "Healthy", message = tostring(${expression})}`;

describe('the environment of a script', () => {
  it.each([
    ['fields', 'obj.spec.a .. obj.metadata.name', healthy('xn')],
    ['whole numbers without a point', 'obj.spec.n + 1', healthy('3')],
    ['fractions', 'obj.spec.half', healthy('0.5')],
    ['no nulls in maps', 'obj.spec.nothing == nil', healthy('true')],
    ['no nulls in lists', '#obj.spec.list .. obj.spec.list[2]', healthy('2c')],
    ['letters of any language', 'obj.spec.word', healthy('grün 🟢')],
    ['empty maps and lists as tables', 'next(obj.spec.empty) == nil and next(obj.spec.none) == nil', healthy('true')],
    [
      'no prototype of JavaScript',
      'tostring(obj.constructor) .. tostring(constructor) .. tostring(obj.__proto__)',
      healthy('nilnilnil'),
    ],
    ['action parameters, empty', 'next(actionParams) == nil', healthy('true')],
    ['time by require', 'require("os").date("%Y-%m-%d", require("os").time())', healthy('2026-01-02')],
    ['the number of elements as in 5.1', 'table.getn({1, 2})', healthy('2')],
  ])('%s', (_name, expression, expected) => {
    const spec = {
      a: 'x',
      n: 2,
      half: 0.5,
      nothing: null,
      list: ['a', null, 'c'],
      word: 'grün 🟢',
      empty: {},
      none: [],
    };
    expect(run(returning(expression), { open: false, parts: { spec } })).toEqual(expected);
  });

  it('has string, math and coroutine only with useOpenLibs, and never io, debug or a file loader', () => {
    const names = [
      'string',
      'math',
      'coroutine',
      'load',
      'loadstring',
      'io',
      'debug',
      'os',
      'dofile',
      'loadfile',
      'package',
    ];
    const list = (open: boolean) =>
      names.filter((name) => run(returning(`${name} ~= nil`), { open })?.message === 'true');
    expect(list(false)).toEqual([]);
    expect(list(true)).toEqual(['string', 'math', 'coroutine', 'load', 'loadstring', 'os']);
    expect(run(returning('("x"):upper()'), { open: false })?.status).toBe('Unknown');
    expect(run(returning('("x"):upper()'))).toEqual(healthy('X'));
    expect(run(returning('os.execute == nil and os.getenv == nil and os.remove == nil and os.exit == nil'))).toEqual(
      healthy('true'),
    );
    expect(run(returning('pcall(require, "io")'))).toEqual(healthy('false'));
  });

  it('keeps no state between runs, and cannot change the libraries', () => {
    const rules = settingsOf({ 'example.com/Thing': script(`seen = (seen or 0) + 1 ${returning('seen')}`) });
    expect([healthOf(thing(), rules), healthOf(thing(), rules)]).toEqual([healthy('1'), healthy('1')]);
    for (const attack of [
      'string.rep = nil',
      'rawset(string, "rep", 1)',
      'table.insert(string, 1)',
      'setmetatable(string, nil)',
      'getmetatable(_G).__index.type = nil',
      'setmetatable(_G, {})',
      'debug.getregistry()',
    ])
      expect([attack, run(`${attack} ${returning('1')}`)?.status]).toEqual([attack, 'Unknown']);
    expect(run(returning('string.rep("ab", 2) .. type(1)'))).toEqual(healthy('ababnumber'));
    expect(run(returning('getmetatable("")'))).toEqual(healthy('nil'));
  });
});

describe('the result of a script', () => {
  it.each([
    ['return nil', null],
    ['x = 1', null],
    ['return {}', null],
    ['return {status = "Healthy", message = 3}', null],
    ['return {1, 2}', null],
    ['return "Healthy"', 'expect table output from Lua script, not string'],
    ['return 3', 'expect table output from Lua script, not number'],
    ['return {status = "Healthy", 1}', 'cannot encode mixed or invalid key types'],
    ['return {[5] = 1}', 'cannot encode sparse array'],
    ['return {status = "Healthy", f = type}', 'cannot encode function to JSON'],
    ['return {status =', '<string>:1: unexpected symbol near <eof>'],
    ['local x = nil\nreturn x.y', "<string>:2: attempt to index a nil value (local 'x')"],
    ['error({})', 'the script raised an error that is not a string'],
  ])('%j gives %j', (text, expected) => {
    const message = `health script of example.com/Thing: ${expected ?? ''}`;
    expect(run(text)).toEqual(expected === null ? null : { status: 'Unknown', message });
  });

  it('is the last value, with case-insensitive field names and one of the six codes', () => {
    expect(run('return 1, {Status = "Degraded", MESSAGE = "m"}')).toEqual({ status: 'Degraded', message: 'm' });
    const invalid = { status: 'Unknown', message: 'Lua returned an invalid health status' };
    expect([run('return {status = "Great"}'), run('return {message = "m"}')]).toEqual([invalid, invalid]);
    expect(run('return {status = "Healthy"}')).toEqual({ status: 'Healthy' });
  });

  it('is truncated to a size that fits into a status', () => {
    expect(run(returning('string.rep("x", 1000000)'))?.message).toHaveLength(16_384);
  });
});

describe('limits of a script', () => {
  const attacks: readonly (readonly [name: string, text: string, expected: RegExp])[] = [
    ['loop', 'while true do end', /too many instructions/],
    ['loop behind pcall', 'while true do pcall(function() while true do end end) end', /too many instructions/],
    ['loop of failing pcalls', 'while true do pcall(error, "x") end', /too many instructions/],
    [
      'loop behind xpcall',
      'while true do xpcall(function() while true do end end, function() while true do end end) end',
      /too many/,
    ],
    [
      'loop in coroutines',
      'while true do pcall(coroutine.wrap(function() while true do pcall(error) end end)) end',
      /too many/,
    ],
    [
      'loop in a metamethod',
      'return setmetatable({}, {__index = function() while true do end end}).x',
      /too many instructions/,
    ],
    ['loop in a sort', 'table.sort({3, 2, 1}, function() while true do end end)', /too many instructions/],
    ['loop in loaded code', 'load("while true do end")()', /too many instructions/],
    ['doubling text', 's = "x" while true do s = s .. s end', /not enough memory|more memory than/],
    [
      'doubling text behind pcall',
      's = "x" while true do pcall(function() s = s .. s end) end',
      /more memory than|too many/,
    ],
    [
      'growing table',
      't = {} while true do t[#t + 1] = {1, 2, 3, 4, 5, 6, 7, 8, {}, {}, {}, {}} end',
      /not enough memory|too many/,
    ],
    ['recursion', 'local function f() return 1 + f() end f()', /not enough memory|stack overflow|too many/],
    ['recursion through gsub', 'local function f() return (string.gsub("x", "x", f)) end f()', /C stack overflow/],
    [
      'recursion through tostring',
      'local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)',
      /C stack/,
    ],
    ['text of 10^15 letters', 'string.rep("x", 1e15)', /resulting string too large/],
    ['a loop of long texts', 'while true do pcall(string.rep, "x", 4000000) end', /too much work|more memory|too many/],
    ['format of long texts', 'local s = string.rep("x", 3000000) string.format("%s%s", s, s)', /result is too large/],
    ['pattern with many repetitions', 'string.find(string.rep("a", 3000), ".-.-.-.-.-x")', /too many instructions/],
    ['pattern with many stars', 'string.match(string.rep("a", 3000), "^a*a*a*a*a*b")', /too many instructions/],
    ['gsub with many stars', 'string.gsub(string.rep("a", 3000), "(a*)(a*)(a*)b", "%1")', /too many instructions/],
    [
      'gmatch with many stars',
      'for x in string.gmatch(string.rep("a", 3000), "a*a*a*a*b") do end',
      /too many instructions/,
    ],
    [
      'gsub that grows',
      'string.gsub(string.rep("a", 30000), "a", string.rep("b", 30000))',
      /too large|memory|too many/,
    ],
    [
      'plain find of long texts',
      'string.find(string.rep("a", 2000000), string.rep("a", 1000000) .. "b", 1, true)',
      /too much work|memory/,
    ],
    [
      'concat without end',
      'table.concat(setmetatable({}, {__index = function() return "" end}), "", 1, 1e15)',
      /metatable/,
    ],
    ['insert without end', 'table.insert(setmetatable({}, {__len = function() return 1e15 end}), 1, 1)', /metatable/],
    ['finaliser', 'setmetatable({}, {__gc = function() while true do end end})', /__gc is not supported/],
    ['unpack', 'unpack({}, 1, 1e8)', /too many results/],
    ['binary code', 'assert(load("\\27Lua"))', /attempt to load a binary chunk/],
    ['nested code', 'assert(load(string.rep("(", 60000)))', /C stack overflow|too many C levels/],
  ];
  it.each(attacks)('%s', (_name, text, expected) => {
    const result = run(text);
    expect(result?.status).toBe('Unknown');
    expect(result?.message).toMatch(expected);
    expect(run(returning('"next"'))).toEqual(healthy('next'));
  });

  it('end a run by the clock when the instruction counter is too late', async () => {
    let time = 0;
    const slow = await createLuaEngine({ now: () => 0, monotonic: () => (time += 10) });
    const rules = { overrides: {}, healthScripts: compileHealthScripts(slow, { Pod: script('while true do end') }) };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: {} } as KubeObject;
    expect(healthOf(pod, rules)).toEqual({
      status: 'Unknown',
      message: 'health script of Pod: the script ran for longer than 500 ms',
    });
  });

  it('skip more and more runs of a script that hits them, until it ends in time', () => {
    const overrides = { 'example.com/Thing': script(`if obj.slow then while true do end end ${returning('"fine"')}`) };
    const rules = settingsOf(overrides);
    const ran = Array.from({ length: 20 }, () => healthOf(thing({ slow: true }), rules)?.message ?? '');
    expect(ran.flatMap((text, index) => (text.includes('not run again') ? [] : [index]))).toEqual([0, 2, 6, 14]);
    const later = Array.from({ length: 20 }, () => healthOf(thing(), rules)?.message ?? '');
    expect(later.slice(-10)).toEqual(later.slice(-10).map(() => 'fine'));
  });

  it('refuse an object that is nested too deeply, and keep the engine working', () => {
    let deep: object = {};
    for (let i = 0; i < 500; i += 1) deep = { deep };
    expect(run(returning('1'), { parts: { spec: deep } })?.message).toMatch(/nested too deeply/);
    expect(run(returning('1'))).toEqual(healthy('1'));
  });

  it('give a status for any object and any script', () => {
    const statuses = ['Healthy', 'Unknown', 'Degraded', undefined];
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (spec) => {
        expect(statuses).toContain(
          run('local n = 0 for k, v in pairs(obj) do n = n + 1 end return {status = "Healthy"}', { parts: { spec } })
            ?.status,
        );
      }),
      { numRuns: 100 },
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const result = run(text);
        expect(result === null || statuses.includes(result.status)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("our pattern matcher gives the results of Lua's", () => {
  let roomy: LuaEngine;
  beforeAll(async () => {
    roomy = await createLuaEngine(still);
  });
  const patient = (text: string, { parts }: { parts: object }) => {
    const overrides = { 'example.com/Thing': script(text, true) };
    return healthOf(thing(parts), { overrides, healthScripts: compileHealthScripts(roomy, overrides) });
  };
  // A long tail that no pattern matches makes the text long enough for the matcher written in Lua.
  const tail = ';'.repeat(400);
  const patterns = [
    '(%w+)%s*=%s*(%w+)',
    '^%s*(.-)%s*;',
    '(a*(.)%w(%s*))',
    '[%a_][%w_]*',
    '%((%d+)%)-(%d*)',
    '[^,]+,-',
    '()b+()',
    '(b)%1-c+',
    '%b()x*y*',
    'a?b?c+d*',
  ];
  it.each(patterns)('%s', (pattern) => {
    for (const text of ['key = value', '  trim  ', 'aab (12) x_1, bbcc', 'ddcab(()x)yy', '']) {
      const both = [text, text + tail].map(
        (whole) =>
          patient(
            `local t, p = obj.text, obj.pattern
           local out = {}
           for _, v in ipairs({string.find(t, p)}) do out[#out + 1] = tostring(v) end
           out[#out + 1] = "|"
           for _, v in ipairs({string.match(t, p)}) do out[#out + 1] = tostring(v) end
           ${returning('table.concat(out, ",")')}`,
            { parts: { text: whole, pattern } },
          )?.message,
      );
      if (!pattern.includes(';') && !pattern.startsWith('[^')) expect(both[1]).toBe(both[0]);
      else expect(both[1]).toBeDefined();
    }
  });

  it('also in replacements', () => {
    const gsub = (text: string) =>
      patient(returning(`(string.gsub(obj.text, "(%w*)-(%w*)(%d*)", "<%2%1>")):sub(1, 20)`), { parts: { text } })
        ?.message;
    expect(gsub(`ab-cd${' '.repeat(400)}`)).toBe(gsub(`ab-cd${' '.repeat(20)}`));
  });
});

describe('choice of the script', () => {
  const named = (name: string, open = true): ResourceOverride =>
    script(`return {status = "Healthy", message = "${name}"}`, open);
  const folder = (key: string) => ({ key, source: `return {status = "Healthy", message = ("folder ${key}"):sub(1)}` });
  const messageFor = (object: KubeObject, overrides: Settings['overrides'], files: readonly string[] = []) =>
    healthOf(object, settingsOf(overrides, files.map(folder)))?.message;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    status: { phase: 'Succeeded', message: 'ours' },
  } as unknown as KubeObject;

  it('takes the exact key, then a wildcard key, then a folder, then a wildcard folder, then our check', () => {
    const all = { 'example.com/Thing': named('exact'), '*.com/*': named('glob') };
    const files = ['example.com/Thing', 'example.com/_', '_.com/_'];
    expect(messageFor(thing(), all, files)).toBe('exact');
    expect(messageFor(thing(), { '*.com/*': named('glob') }, files)).toBe('glob');
    expect(messageFor(thing(), {}, files)).toBe('folder example.com/Thing');
    expect(messageFor(thing(), {}, files.slice(1))).toBe('folder example.com/_');
    expect(messageFor(thing(), {}, files.slice(2))).toBe('folder _.com/_');
    expect(messageFor(pod, {}, files)).toBe('ours');
    expect(healthOf(thing(), settingsOf({}))).toBeNull();
  });

  it('prefers the longest wildcard; a star crosses a slash in a key but not in a folder; `*/*` excludes core kinds', () => {
    expect(messageFor(thing(), { '*/*': named('all'), 'example.*/*': named('longer') })).toBe('longer');
    expect(messageFor(thing(), { 'exam*': named('crosses') })).toBe('crosses');
    expect(healthOf(thing(), settingsOf({}, [folder('exam_')]))).toBeNull();
    expect(messageFor(pod, { '*/*': named('all') })).toBe('ours');
    expect(messageFor(pod, { Pod: named('core') })).toBe('core');
  });

  it('replaces our check even if the script returns nothing', () => {
    expect(healthOf(pod, settingsOf({ Pod: script('return nil') }))).toBeNull();
  });

  it('is not asked for an object that is being deleted', () => {
    const deleted = thing({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(messageFor(deleted, { 'example.com/Thing': named('x') })).toBe('Pending deletion');
  });

  it('makes a kind with a script Unknown without an engine, and uses no other check', () => {
    const rules = { overrides: { Pod: named('x') } };
    expect(healthOf(pod, rules)).toEqual({
      status: 'Unknown',
      message: 'the health script of Pod cannot run: this process has no Lua engine',
    });
    expect(healthOf(thing(), rules)).toBeNull();
  });
});

// T-SEC-6
describe('scripts over Secrets', () => {
  const data = { password: Buffer.from('c4nary-hunter2').toString('base64') };
  const healthOfSecret = (text: string): unknown =>
    healthOf(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'n' }, data },
      settingsOf({ Secret: script(text, true) }),
    );

  // T-SEC-6
  it('do not show the error when they fail', () => {
    for (const text of [
      'error(obj.data.password)',
      'return "error", obj.data.password',
      'return obj.data.password + 1',
    ])
      expect(healthOfSecret(text)).toEqual({
        status: 'Unknown',
        message: 'health script of Secret: the message about this Secret is hidden because it may contain its values',
      });
  });

  // T-SEC-6
  it('have values masked in their messages', () => {
    expect(healthOfSecret(returning('"it is " .. obj.data.password'))).toEqual({
      status: 'Healthy',
      message: 'it is ***',
    });
    expect(healthOfSecret(returning('"expires soon"'))).toEqual({ status: 'Healthy', message: 'expires soon' });
  });

  it('keep the messages for other kinds', () => {
    expect(run('error("no " .. obj.metadata.name)')).toMatchObject({ message: expect.stringContaining('no n') });
  });
});
