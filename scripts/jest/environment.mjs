import { createRequire } from 'node:module';

// The packages of jest itself.
const ofJest = createRequire(createRequire(import.meta.url).resolve('jest-environment-node'));
const { ModernFakeTimers } = ofJest('@jest/fake-timers');
const { ModuleMocker } = ofJest('jest-mock');

/**
 * Runs test files in the context of their worker, one after the other, so that a module is loaded
 * once. A vm context for each file would load every module again. At the end of a file it restores
 * the process: globals, mocks, timers, the environment, the exit code and the working directory.
 */
export default class Environment {
  global = globalThis;
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);
  #restored = [membersOf(globalThis), membersOf(process), membersOf(process.env)];
  #variables = new Set(Object.keys(process.env));
  #folder = process.cwd();

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const restore of this.#restored) restore();
    for (const name of Object.keys(process.env)) if (!this.#variables.has(name)) delete process.env[name];
    process.exitCode = undefined;
    if (process.cwd() !== this.#folder) process.chdir(this.#folder);
  }

  exportConditions() {
    return [];
  }

  getVmContext() {
    return null;
  }
}

/**
 * Returns a function that restores the present members of an object. New ones stay, and so do
 * members that Node keeps for itself: the listeners of the process and their number must agree.
 */
function membersOf(object) {
  const before = Object.getOwnPropertyDescriptors(object);
  return () => {
    for (const name of Reflect.ownKeys(before)) {
      if (String(name).startsWith('_')) continue;
      const now = Object.getOwnPropertyDescriptor(object, name);
      const then = before[name];
      const isSame = now !== undefined && now.value === then.value && now.get === then.get;
      if (!isSame && (now === undefined || now.configurable)) Object.defineProperty(object, name, then);
    }
  };
}
