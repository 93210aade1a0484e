import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { defined } from '#base';
import fc from 'fast-check';
import { offsetOf } from './cron.ts';
import { canSync } from './index.ts';
import type { SyncTrigger, WindowFacts } from './index.ts';
import { invalidLists } from './testing/index.ts';

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8'));
}
type Row = readonly [schedule: string, duration: string, timeZone: string, now: string, active: string];
const { rows: vectors } = read('windows.json') as { rows: readonly Row[] };
const { zones, unknown } = read('time-zones.json') as {
  zones: Record<string, readonly number[]>;
  unknown: readonly string[];
};

type Windows = Parameters<typeof canSync>[0];
const auto: SyncTrigger = { manual: false };
const byHand: SyncTrigger = { manual: true };
const app: WindowFacts = { name: 'app', destination: { server: 'https://s', namespace: 'ns' } };
const everyone = { applications: ['*'] };
const noon = Date.parse('2024-05-15T12:00:00Z'); // A Wednesday.
const now = noon + 30 * 60_000;

function verdict(windows: unknown, trigger = auto, at = now, facts = app): string {
  const { allowed, error } = canSync(windows as Windows, facts, trigger, at);
  if (error !== undefined) return `error: ${error}`;
  return allowed ? 'allowed' : 'blocked';
}

describe('when a window is active, against the libraries of Argo CD', () => {
  it.each(vectors)('%j for %s in "%s" at %s: %s', (schedule, duration, timeZone, at, active) => {
    const one = (kind: string): string =>
      verdict([{ kind, schedule, duration, timeZone, ...everyone }], auto, Date.parse(at));
    if (active === 'error') {
      expect(one('allow')).toMatch(/^error: invalid sync windows: cannot parse (?:schedule|duration) '/);
      expect(one('deny')).toMatch(/^error: /);
    } else if (active === 'never') expect([one('allow'), one('deny')]).toEqual(['blocked', 'blocked']);
    else
      expect([one('allow'), one('deny')]).toEqual(active === 'true' ? ['allowed', 'blocked'] : ['blocked', 'allowed']);
  });
});

describe('time zones', () => {
  it('are those of Go, with its offsets', () => {
    const times = ['2024-01-01T00:00:00Z', '2024-07-03T00:00:00Z'].map((text) => Date.parse(text));
    const ours = Object.keys(zones).map((zone) => [
      zone,
      times.map((at) => Math.round((offsetOf(zone, at) ?? NaN) / 60_000)),
    ]);
    expect(Object.fromEntries(ours)).toEqual(
      Object.fromEntries(Object.entries(zones).map(([zone, minutes]) => [zone, minutes.map(Math.round)])),
    );
  });

  it.each(unknown)('treat unknown zone %j as UTC', (timeZone) => {
    expect(offsetOf(timeZone, now)).toBeUndefined();
    const window = { kind: 'allow', schedule: '0 12 * * *', duration: '1h', timeZone, ...everyone };
    expect([verdict([window]), verdict([window], auto, noon - 1)]).toEqual(['allowed', 'blocked']);
  });

  it('have a bounded cache', () => {
    for (let i = 0; i < 2500; i += 1) offsetOf(`Nowhere/${i}`, now);
    expect(offsetOf('Europe/Berlin', now)).toBe(7_200_000);
  });
});

describe('which windows count for an application', () => {
  const closed = { kind: 'deny', schedule: '0 12 * * *', duration: '1h' };
  const named: WindowFacts = { name: 'web', destination: { name: 'dev', namespace: 'team' } };
  const both: WindowFacts = { name: 'web', destination: { name: 'dev', server: 'https://dev', namespace: 'team' } };
  const bare: WindowFacts = { name: 'web', destination: {} };
  it.each<[object, WindowFacts, boolean]>([
    [{}, named, false],
    [{ applications: [] }, named, false],
    [{ applications: null, clusters: null, namespaces: null }, named, false],
    [{ applications: ['web'] }, named, true],
    [{ applications: ['we'] }, named, false],
    [{ applications: ['x', 'w*'] }, named, true],
    [{ applications: ['{web,api}'] }, named, true],
    [{ applications: ['[a-w]eb'] }, named, true],
    // Selectors do not negate.
    [{ applications: ['!api'] }, named, false],
    [{ applications: ['!web'] }, named, false],
    [{ applications: ['argocd/web'] }, named, false],
    [{ clusters: ['dev'] }, named, true],
    [{ clusters: ['https://dev'] }, named, false],
    [{ clusters: ['https://dev'] }, both, true],
    [{ clusters: ['dev'] }, both, true],
    [{ clusters: ['*'] }, named, true],
    // A missing value matches nothing, not even a star.
    [{ clusters: ['*'] }, bare, false],
    [{ clusters: [''] }, bare, false],
    [{ clusters: ['https://*'] }, both, true],
    [{ namespaces: ['team'] }, named, true],
    [{ namespaces: ['t*'] }, named, true],
    [{ namespaces: ['other'] }, named, false],
    [{ namespaces: ['*'] }, bare, true],
    [{ namespaces: [''] }, bare, true],
    [{ namespaces: ['?'] }, bare, true],
    [{ applications: ['no'], clusters: ['dev'] }, named, true],
    [{ applications: ['no'], namespaces: ['team'] }, named, true],
    [{ applications: ['no'], clusters: ['no'], namespaces: ['no'] }, named, false],
    [{ andOperator: true }, named, false],
    [{ andOperator: true, applications: [], clusters: [] }, named, false],
    [{ andOperator: true, applications: ['web'] }, named, true],
    [{ andOperator: true, applications: ['web'], clusters: ['dev'], namespaces: ['team'] }, named, true],
    [{ andOperator: true, applications: ['web'], clusters: ['no'], namespaces: ['team'] }, named, false],
    [{ andOperator: true, applications: ['no'], clusters: ['dev'] }, named, false],
    [{ andOperator: true, applications: ['web'], namespaces: ['no'] }, named, false],
    [{ andOperator: true, applications: ['no', 'web'], clusters: ['no', 'd*'] }, named, true],
    [{ andOperator: true, clusters: ['*'], namespaces: ['*'] }, bare, false],
    [{ andOperator: false, applications: ['web'], clusters: ['no'] }, named, true],
    [{ andOperator: null, applications: ['web'], clusters: ['no'] }, named, true],
  ])('%j on %j: %j', (selectors, facts, expected) => {
    expect(verdict([{ ...closed, ...selectors }], auto, now, facts)).toBe(expected ? 'blocked' : 'allowed');
  });
});

describe('what windows decide', () => {
  const open = { schedule: '0 12 * * *', duration: '1h', ...everyone };
  const shut = { schedule: '0 6 * * *', duration: '1h', ...everyone };
  const allow = { kind: 'allow', ...open };
  const deny = { kind: 'deny', ...open };
  const allowLater = { kind: 'allow', ...shut };
  const denyLater = { kind: 'deny', ...shut };
  const manual = { manualSync: true };
  const overrun = { syncOverrun: true };
  // Operations that began inside and outside the window at noon, and at six.
  const [atNoon, before, atSix] = ['12:10', '11:50', '06:10'].map((time) => Date.parse(`2024-05-15T${time}:00Z`));
  const since = (startedAt: number | undefined, isManual = false): SyncTrigger => ({
    manual: isManual,
    ...defined({ startedAt }),
  });

  it.each<[string, unknown, SyncTrigger, 'allowed' | 'blocked']>([
    ['no windows', undefined, auto, 'allowed'],
    ['no windows', null, auto, 'allowed'],
    ['no windows', [], byHand, 'allowed'],
    ['an open allow window', [allow], auto, 'allowed'],
    ['an open allow window', [allow], byHand, 'allowed'],
    ['a closed allow window', [allowLater], auto, 'blocked'],
    ['a closed allow window', [allowLater], byHand, 'blocked'],
    ['a closed allow window for hands', [{ ...allowLater, ...manual }], byHand, 'allowed'],
    ['a closed allow window for hands', [{ ...allowLater, ...manual }], auto, 'blocked'],
    ['one of two closed for hands', [{ ...allowLater, ...manual }, allowLater], byHand, 'blocked'],
    [
      'both closed for manual syncs',
      [
        { ...allowLater, ...manual },
        { ...allowLater, ...manual },
      ],
      byHand,
      'allowed',
    ],
    ['one open of two', [allowLater, allow], auto, 'allowed'],
    ['an active deny window', [deny], auto, 'blocked'],
    ['an active deny window', [deny], byHand, 'blocked'],
    ['an active deny window for hands', [{ ...deny, ...manual }], byHand, 'allowed'],
    ['an active deny window for hands', [{ ...deny, ...manual }], auto, 'blocked'],
    ['one of two denies for hands', [{ ...deny, ...manual }, deny], byHand, 'blocked'],
    ['a deny window that is not active', [denyLater], auto, 'allowed'],
    ['one active deny of two, for hands', [{ ...deny, ...manual }, denyLater], byHand, 'allowed'],
    ['deny wins over allow', [allow, deny], auto, 'blocked'],
    ['deny wins over allow', [deny, allow], byHand, 'blocked'],
    // Only the blocking windows decide: a deny with manualSync also opens a closed allow.
    ['deny for hands beside a closed allow', [{ ...deny, ...manual }, allowLater], byHand, 'allowed'],
    ['a deny that sleeps beside an open allow', [denyLater, allow], auto, 'allowed'],
    ['a deny that sleeps beside a closed allow', [denyLater, allowLater], auto, 'blocked'],
    [
      'an inactive deny with manualSync beside a closed allow',
      [{ ...denyLater, ...manual }, allowLater],
      byHand,
      'blocked',
    ],
    // Overrun of a deny window.
    ['began before the deny, may run over', [{ ...deny, ...overrun }], since(before), 'allowed'],
    ['began before the deny, may not', [deny], since(before), 'blocked'],
    ['began within the deny', [{ ...deny, ...overrun }], since(atNoon), 'blocked'],
    ['one deny of two lets it run over', [{ ...deny, ...overrun }, deny], since(before), 'blocked'],
    [
      'both do',
      [
        { ...deny, ...overrun },
        { ...deny, ...overrun },
      ],
      since(before),
      'allowed',
    ],
    ['a sleeping deny does not matter', [{ ...deny, ...overrun }, denyLater], since(before), 'allowed'],
    ['it began in that other deny', [{ ...deny, ...overrun }, denyLater], since(atSix), 'blocked'],
    [
      'began in another deny with manualSync',
      [
        { ...deny, ...overrun },
        { ...denyLater, ...manual },
      ],
      since(atSix, true),
      'allowed',
    ],
    ['nothing has begun', [{ ...deny, ...overrun }], auto, 'blocked'],
    ['nothing has begun', [{ ...deny, ...overrun }], byHand, 'blocked'],
    [
      'began outside the allow window',
      [
        { ...deny, ...overrun },
        { ...allowLater, ...overrun },
      ],
      since(before),
      'blocked',
    ],
    ['it began inside of the allow window', [{ ...deny, ...overrun }, allowLater], since(atSix), 'allowed'],
    // Overrun of an allow window.
    ['the allow is over, it may run over', [{ ...allowLater, ...overrun }], since(atSix), 'allowed'],
    ['the allow is over, it may not', [allowLater], since(atSix), 'blocked'],
    ['it began outside of the allow', [{ ...allowLater, ...overrun }], since(before), 'blocked'],
    ['one allow of two lets it run over', [{ ...allowLater, ...overrun }, allowLater], since(atSix), 'blocked'],
    ['the start is no overrun itself', [{ ...allowLater, ...overrun, ...manual }], since(before, true), 'allowed'],
    [
      'a manual start is treated as manual',
      [
        { ...deny, ...overrun },
        { ...allowLater, ...manual },
      ],
      since(before, true),
      'allowed',
    ],
    [
      'an automated start is not',
      [
        { ...deny, ...overrun },
        { ...allowLater, ...manual },
      ],
      since(before),
      'blocked',
    ],
    // Other kinds are ignored, but must be readable.
    [
      'an invalid window for others',
      [{ kind: 'deny', schedule: 'x', duration: 'y', applications: ['other'] }],
      auto,
      'allowed',
    ],
    // Schedules that never fire: as upstream for deny, not for allow.
    ['30 February allows nothing', [{ ...allow, schedule: '0 0 30 2 *' }], auto, 'blocked'],
    ['30 February denies', [{ ...deny, schedule: '0 0 30 2 *' }], auto, 'blocked'],
    ['a schedule of commas', [{ ...deny, schedule: ', * * * *' }], auto, 'blocked'],
    ['a window of no time', [{ ...deny, duration: '0' }], auto, 'allowed'],
    ['a window of less than no time', [{ ...deny, duration: '-1h' }], auto, 'allowed'],
  ])('%s: %j, %j: %s', (_what, windows, trigger, expected) => {
    expect(verdict(windows, trigger)).toBe(expected);
  });

  it.each<[unknown, string]>([
    [[{ kind: 'allow', duration: '1h', ...everyone }], "cannot parse schedule '': empty spec string"],
    [[{ kind: 'allow', schedule: '* * * * *', ...everyone }], "cannot parse duration '': not a duration such as 1h30m"],
    [[{ ...deny, schedule: '@daily' }], "cannot parse schedule '@daily': parser does not accept descriptors: @daily"],
    [
      [allow, { ...allow, schedule: '0 0 * * 7' }],
      "cannot parse schedule '0 0 * * 7': end of range (7) above maximum (6): 7",
    ],
    [[{ ...allow, duration: '1d' }], "cannot parse duration '1d': not a duration such as 1h30m"],
    [
      [{ ...allow, duration: '1h'.repeat(200) }],
      `cannot parse duration '${'1h'.repeat(100)}': not a duration such as 1h30m`,
    ],
    [
      [{ ...allow, schedule: '*,'.repeat(2000) }],
      `cannot parse schedule '${'*,'.repeat(100)}': 4000 characters are too many (at most 2000)`,
    ],
    [[{ ...allow, schedule: 'TZ=UTC' }], "cannot parse schedule 'TZ=UTC': provided bad location TZ=UTC"],
    [[null], 'a window is not an object'],
    [['x'], 'a window is not an object'],
    [[{ ...open, kind: 'Deny' }], 'kind of a window is neither allow nor deny'],
    [[allow, { ...open, kind: 'dney' }], 'kind of a window is neither allow nor deny'],
    [[{ ...allow, kind: undefined }], 'kind of a window is neither allow nor deny'],
    [[{ ...allow, applications: ['[a'] }], 'a pattern of a window is not a glob'],
    [[{ ...allow, namespaces: ['a', 'b['] }], 'a pattern of a window is not a glob'],
    [[{ ...allow, kind: 5 }], 'kind of a window is not a text'],
    [[{ ...allow, schedule: {} }], 'schedule of a window is not a text'],
    [[{ ...allow, duration: 60 }], 'duration of a window is not a text'],
    [[{ ...allow, timeZone: [] }], 'timeZone of a window is not a text'],
    [[{ ...allow, applications: '*' }], 'applications of a window is not a list of texts'],
    [[{ ...allow, clusters: [{}] }], 'clusters of a window is not a list of texts'],
    [[{ ...allow, namespaces: [null] }], 'namespaces of a window is not a list of texts'],
    [[{ ...allow, andOperator: 'true' }], 'andOperator of a window is not true or false'],
    [[{ ...allow, manualSync: 1 }], 'manualSync of a window is not true or false'],
    [[{ ...allow, syncOverrun: {} }], 'syncOverrun of a window is not true or false'],
  ])('%j: blocks syncs and reports the reason', (windows, reason) => {
    for (const trigger of [auto, byHand, since(before), since(atSix, true)])
      expect(canSync(windows as Windows, app, trigger, now)).toEqual({
        allowed: false,
        error: `invalid sync windows: ${reason}`,
      });
  });

  it.each(invalidLists.map((value) => [value]))('windows %j block syncs', (windows) => {
    expect(verdict(windows)).toMatch(/^error/);
  });

  it('an error elsewhere does not count as an invalid window', () => {
    const facts = {
      name: 'app',
      get destination(): never {
        throw new RangeError('mine');
      },
    };
    expect(() => canSync([allow], facts, auto, now)).toThrow(RangeError);
  });
});

/** A schedule as sets of values, for the text and the naive model. */
interface Plan {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly weekdays: readonly number[] | undefined;
  readonly days: readonly number[] | undefined;
}
const set = (max: number, min = 0): fc.Arbitrary<number[]> =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 });
const plan: fc.Arbitrary<Plan> = fc.record({
  minutes: set(59),
  hours: set(23),
  weekdays: fc.option(set(6), { nil: undefined }),
  days: fc.option(set(31, 1), { nil: undefined }),
});
const window = fc.record({
  kind: fc.constantFrom('allow', 'deny'),
  plan,
  minutes: fc.integer({ min: 0, max: 3 * 1440 }),
  timeZone: fc.constantFrom(
    undefined,
    '',
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'Pacific/Apia',
    'America/St_Johns',
    'nowhere',
  ),
  manualSync: fc.boolean(),
  syncOverrun: fc.boolean(),
});
type Window = typeof window extends fc.Arbitrary<infer T> ? T : never;

function scheduleOf({ minutes, hours, weekdays, days }: Plan): string {
  return `${minutes.join(',')} ${hours.join(',')} ${days?.join(',') ?? '*'} * ${weekdays?.join(',') ?? '*'}`;
}

/**
 * Reports whether the schedule fires at this minute. If both kinds of days are restricted, either
 * suffices.
 */
function fires({ minutes, hours, weekdays, days }: Plan, wall: Date): boolean {
  if (!minutes.includes(wall.getUTCMinutes()) || !hours.includes(wall.getUTCHours())) return false;
  const byWeekday = weekdays?.includes(wall.getUTCDay());
  const byDay = days?.includes(wall.getUTCDate());
  return byDay === undefined || byWeekday === undefined ? (byDay ?? byWeekday ?? true) : byDay || byWeekday;
}

/** The offset as formatted by the engine, "GMT+05:30". */
function offsetMinutes(timeZone: string | undefined, at: number): number {
  if (timeZone === undefined || timeZone === '' || timeZone === 'nowhere') return 0;
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).formatToParts(at);
  const [, sign, hours, minutes] =
    /GMT([+-])(\d+):(\d+)/.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
}

/**
 * Searches back minute by minute on the zone's wall clock: has it fired within the duration,
 * strictly before now?
 */
function bruteActive(one: Window, at: number): boolean {
  const wall = at + offsetMinutes(one.timeZone, at) * 60_000;
  for (let minute = Math.floor(wall / 60_000) * 60_000; minute > wall - one.minutes * 60_000; minute -= 60_000)
    if (minute < wall && fires(one.plan, new Date(minute))) return true;
  return false;
}

/** Section 4.7 of the reference, step by step. */
function bruteCanSync(windows: readonly Window[], manual: boolean, at: number, startedAt?: number): boolean {
  if (windows.length === 0) return true;
  const overrunOk = (inTheWay: readonly Window[]): boolean =>
    startedAt !== undefined && inTheWay.every((one) => one.syncOverrun) && bruteCanSync(windows, manual, startedAt);
  const activeDenies = windows.filter((one) => one.kind === 'deny' && bruteActive(one, at));
  if (activeDenies.length > 0)
    return (manual && activeDenies.every((one) => one.manualSync)) || overrunOk(activeDenies);
  const allows = windows.filter((one) => one.kind === 'allow');
  if (allows.some((one) => bruteActive(one, at))) return true;
  if (allows.length === 0) return true;
  return (manual && allows.every((one) => one.manualSync)) || overrunOk(allows);
}

/** Around clock changes in both hemispheres, and anywhere in three years. */
const moment = fc.oneof(
  fc
    .integer({ min: Date.parse('2023-06-01T00:00:00Z') / 1000, max: Date.parse('2026-06-01T00:00:00Z') / 1000 })
    .map((s) => s * 1000),
  fc
    .tuple(
      fc.constantFrom(
        '2024-03-31T01:00:00Z',
        '2024-10-27T01:00:00Z',
        '2024-03-10T07:00:00Z',
        '2024-11-03T06:00:00Z',
        '2024-04-06T15:00:00Z',
        '2024-10-05T15:30:00Z',
      ),
      fc.integer({ min: -180, max: 180 }),
    )
    .map(([change, minutes]) => Date.parse(change) + minutes * 60_000),
);

describe('windows against a minute-by-minute simulation', () => {
  it('agree on random schedules, zones, clock changes, operators and starts', () => {
    fc.assert(
      fc.property(
        fc.array(window, { maxLength: 4 }),
        fc.boolean(),
        moment,
        fc.option(fc.integer({ min: 0, max: 2880 }), { nil: undefined }),
        (windows, manual, at, ago) => {
          const written = windows.map(({ plan: schedule, minutes, ...rest }) => ({
            ...rest,
            schedule: scheduleOf(schedule),
            duration: `${minutes}m`,
            applications: ['*'],
          }));
          const startedAt = ago === undefined ? undefined : at - ago * 60_000;
          const trigger = { manual, ...defined({ startedAt }) };
          expect(canSync(written as Windows, app, trigger, at)).toEqual({
            allowed: bruteCanSync(windows, manual, at, startedAt),
          });
        },
      ),
      { numRuns: 1200 },
    );
  }, 60_000);

  it('never throw on any input, and never allow a sync by a window that does not select it', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.boolean(), (one, two, manual) => {
        const broken = { kind: 'deny', schedule: one, duration: two, applications: ['*'] };
        expect(canSync([broken] as Windows, app, { manual }, now).allowed && typeof one !== 'string').toBe(false);
        expect(typeof canSync(one as Windows, app, { manual }, now).allowed).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });
});
