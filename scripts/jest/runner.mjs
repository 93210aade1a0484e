// The test runner of jest.config.mjs: jest-circus as it is, with test files that Node's own loader
// reads (loader.mjs).
import { readFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { globalsKey } from './globals.mjs';

register('./loader.mjs', import.meta.url);
process.setSourceMapsEnabled(true);

const require = createRequire(import.meta.url);
const asyncHooks = require('node:async_hooks');
const ofJest = createRequire(require.resolve('jest'));
const load = createRequire(ofJest.resolve('jest-circus/runner'));
const { default: runFile } = load('./runner.js');
const handlersKey = Symbol.for('EVENT_HANDLERS');
const ran = new Set();
/** Those of the file before: each storage that is in use slows down every promise. */
const storages = [];

/** Runs one test file. @throws if it runs again in this process: its modules are loaded already */
export default async function run(...[globalConfig, config, environment, , testPath, sendMessageToJest]) {
  if (ran.has(testPath)) throw new Error(`${testPath} ran in this process before: start jest again`);
  ran.add(testPath);
  delete globalThis[handlersKey];
  const { moduleMocker } = environment;
  const runtime = {
    requireInternalModule: loadAnew,
    requireModule: load,
    setGlobalsForRuntime: (globals) => {
      globalThis[globalsKey] = { ...globals, jest: jestOf(environment) };
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path) => import(pathToFileURL(path)),
    restoreAllMocks: () => moduleMocker.restoreAllMocks(),
    resetAllMocks: () => moduleMocker.resetAllMocks(),
    clearAllMocks: () => moduleMocker.clearAllMocks(),
    resetModules: () => undefined,
    enterTestCode: () => undefined,
    leaveTestCode: () => undefined,
  };
  const begin = cpuSeconds();
  const result = await runFile(globalConfig, config, environment, runtime, testPath, sendMessageToJest);
  return { ...result, cpuSeconds: cpuSeconds() - begin };
}

/** CPU time of this process and, on Linux, of its children that have ended. */
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (process.platform === 'linux' ? childSeconds() : 0);
}

/** Fields 16 and 17 of proc(5), in hundredths of a second. The program name may contain spaces. */
function childSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** jest-circus keeps the tests of a file in its module and a global: the next file needs new ones. */
function loadAnew(path) {
  for (const name of Object.getOwnPropertySymbols(globalThis))
    if (name.description === 'JEST_STATE_SYMBOL') delete globalThis[name];
  const { [path]: last } = load.cache;
  delete load.cache[path];
  const siblings = last?.parent?.children ?? [];
  if (siblings.includes(last)) siblings.splice(siblings.indexOf(last), 1);
  for (const storage of storages.splice(0)) storage.disable();
  const { AsyncLocalStorage } = asyncHooks;
  asyncHooks.AsyncLocalStorage = class extends AsyncLocalStorage {
    constructor(...args) {
      super(...args);
      storages.push(this);
    }
  };
  try {
    return load(path);
  } finally {
    asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
  }
}

/** The members of `jest` that tests use. */
function jestOf({ moduleMocker, fakeTimersModern: timers }) {
  return {
    spyOn: (object, name, access) => moduleMocker.spyOn(object, name, access),
    restoreAllMocks: () => moduleMocker.restoreAllMocks(),
    useFakeTimers: (options) => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
    getTimerCount: () => timers.getTimerCount(),
  };
}
