// Stands for `@jest/globals` (loader.mjs). Modules keep these names for longer than one test
// file, so each name stands for its member of the file that runs now.
export const globalsKey = Symbol.for('driftless.jest-globals');

const current = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, _self, args) => globalThis[globalsKey][name](...args),
    get: (_target, key) => globalThis[globalsKey][name][key],
  });

export const afterAll = current('afterAll');
export const afterEach = current('afterEach');
export const beforeAll = current('beforeAll');
export const beforeEach = current('beforeEach');
export const describe = current('describe');
export const expect = current('expect');
export const it = current('it');
export const jest = current('jest');
export const test = current('test');
