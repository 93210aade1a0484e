import { describe, expect, it } from '@jest/globals';
import type { SyncWindow } from '#model';
import { canSync, windowHold } from './index.ts';

const noon = Date.parse('2024-05-15T12:00:00Z'); // A Wednesday.
const now = noon + 30 * 60_000;
const app = { name: 'app', destination: { server: 'https://s', namespace: 'ns' } };
const auto = { manual: false };
const every = { applications: ['*'] };
const deny: SyncWindow = { kind: 'deny', schedule: '0 12 * * *', duration: '1h', ...every };
const allow: SyncWindow = { kind: 'allow', schedule: '0 22 * * *', duration: '8h', ...every };

describe('what a sync window holds, and until when', () => {
  it.each<[string, readonly SyncWindow[], readonly string[] | undefined, string | undefined]>([
    ['no window', [], undefined, undefined],
    ['an open allow window', [{ ...allow, schedule: '0 12 * * *' }], undefined, undefined],
    ['an active deny window', [deny], ['deny "0 12 * * *" for 1h'], '2024-05-15T13:00:00Z'],
    ['a closed allow window', [allow], ['allow "0 22 * * *" for 8h'], '2024-05-15T22:00:00Z'],
    [
      'in its time zone',
      [{ ...allow, timeZone: 'Europe/Berlin' }],
      ['allow "0 22 * * *" for 8h in Europe/Berlin'],
      '2024-05-15T20:00:00Z',
    ],
    ['a deny window before a closed allow window', [deny, allow], ['deny "0 12 * * *" for 1h'], '2024-05-15T22:00:00Z'],
    [
      'a second deny window that begins before the first one ends',
      [deny, { ...deny, schedule: '45 12 * * *' }],
      ['deny "0 12 * * *" for 1h'],
      '2024-05-15T13:45:00Z',
    ],
    ['a deny window without an end', [{ ...deny, schedule: '* * * * *' }], ['deny "* * * * *" for 1h'], undefined],
    ['an allow window of next month', [{ ...allow, schedule: '0 0 1 6 *' }], ['allow "0 0 1 6 *" for 8h'], undefined],
  ])('%s', (_what, windows, shown, until) => {
    const hold = windowHold(windows, app, auto, now);
    expect(hold?.windows).toEqual(shown);
    expect(hold?.until).toBe(until === undefined ? undefined : Date.parse(until));
    if (hold?.until === undefined) return;
    expect(canSync(windows, app, auto, hold.until - 1).allowed).toBe(false);
    expect(canSync(windows, app, auto, hold.until + 1).allowed).toBe(true);
  });

  it('names an invalid window', () => {
    expect(windowHold([{ ...deny, duration: 'x' }], app, auto, now)).toEqual({
      windows: [],
      error: "invalid sync windows: cannot parse duration 'x': not a duration such as 1h30m",
    });
  });

  it('regards a sync by a user', () => {
    const windows = [{ ...deny, manualSync: true }];
    expect(windowHold(windows, app, { manual: true }, now)).toBeUndefined();
    expect(windowHold(windows, app, auto, now)?.until).toBe(Date.parse('2024-05-15T13:00:00Z'));
  });
});
