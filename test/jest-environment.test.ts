import { env } from 'node:process';
import { describe, expect, it } from '@jest/globals';
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

  it('leaves the listeners of the process, and their count agrees', async () => {
    const own = environment();
    const ignore = (): void => undefined;
    process.on('driftless-test', ignore);
    await own.teardown();
    const { length } = process.eventNames();
    process.off('driftless-test', ignore);
    expect(Reflect.get(process, '_eventsCount')).toBe(length - 1);
  });
});
