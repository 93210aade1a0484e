import { env } from 'node:process';
import { describe, expect, it, jest } from '@jest/globals';
import Environment from '../scripts/jest/environment.mjs';

const environment = (): Environment => new Environment({ projectConfig: { fakeTimers: {} } });

describe('what a test file changed of its process', () => {
  it('is put back at its end, also a spy on a fake timer', async () => {
    const { setTimeout: real } = globalThis;
    const own = environment();
    const path = env['PATH'];
    env['PATH'] = '/changed';
    env['DRIFTLESS_NEW'] = 'new';
    process.exitCode = 3;
    own.fakeTimersModern.useFakeTimers();
    const spy = own.moduleMocker.spyOn(globalThis, 'setTimeout');
    spy.mockRestore();
    own.fakeTimersModern.useRealTimers();
    own.moduleMocker.restoreAllMocks();
    Object.defineProperty(globalThis, 'structuredClone', { value: undefined, configurable: true });
    await own.teardown();
    expect(globalThis.setTimeout).toBe(real);
    expect(structuredClone({ a: 1 })).toEqual({ a: 1 });
    expect([env['PATH'], env['DRIFTLESS_NEW'], process.exitCode]).toEqual([path, undefined, undefined]);
  });

  it('leaves the members of jest that tests use', () => {
    const spy = jest.spyOn(Math, 'random');
    expect(jest.fn(() => 4)()).toBe(4);
    spy.mockRestore();
  });
});
