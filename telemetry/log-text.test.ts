import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeClock } from '#support';
import { goTimeFormat } from './go-time.ts';
import { createLogger } from './index.ts';
import type { LogOptions } from './index.ts';
import { goQuote } from './logfmt.ts';

/** A logger whose lines the test reads. */
function recorded(options: Partial<LogOptions> = {}): {
  readonly out: string[];
  readonly log: ReturnType<typeof createLogger>;
} {
  const out: string[] = [];
  const destination = { write: (line: string) => void out.push(line) };
  return { out, log: createLogger({ level: 'debug', format: 'text', destination, ...options }) };
}

/** The line without its time. */
const withoutTime = (line = ''): string => line.replace(/^time="[^"]+" /, '');

describe('the text format, as logrus writes it away from a terminal', () => {
  it('begins with time, level and msg, and sorts the fields by key', () => {
    const { out, log } = recorded();
    log.child({ application: 'a1', 'app-namespace': 'argocd' }).info('Reconciliation completed', { time_ms: 12, Z: 1 });
    log.debug('ready');
    expect(out[0]).toMatch(/^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z" level=info msg="Reconciliation completed" /);
    expect(withoutTime(out[0])).toBe(
      'level=info msg="Reconciliation completed" Z=1 app-namespace=argocd application=a1 time_ms=12\n',
    );
    expect(withoutTime(out[1])).toBe('level=debug msg=ready\n');
  });

  it.each(['debug', 'info', 'warn', 'error'] as const)('names the level %s as logrus does', (level) => {
    const { out, log } = recorded();
    log[level]('x');
    expect(withoutTime(out[0])).toBe(`level=${level === 'warn' ? 'warning' : level} msg=x\n`);
  });

  it.each<[string, unknown, string]>([
    ['a plain word', 'a1', 'a1'],
    ['every character that needs no quotes', 'aZ09-._/@^+', 'aZ09-._/@^+'],
    ['a colon', 'https://dest', '"https://dest"'],
    ['an empty text', '', ''],
    ['a quote and a backslash', 'a"b\\', String.raw`"a\"b\\"`],
    ['a line break', 'a\nlevel=error', String.raw`"a\nlevel=error"`],
    ['a tab', 'a\tb', String.raw`"a\tb"`],
    ['an equals sign', 'a=b', '"a=b"'],
    ['letters of other languages', 'é', '"é"'],
    ['a number', 1.5, '1.5'],
    ['a small number', 1e-5, '1e-05'],
    ['a negative number', -3, '-3'],
    ['true', true, 'true'],
    ['nothing', null, '"<nil>"'],
    ['a list', ['a', 'b'], '"[a b]"'],
    ['a map', { b: 2, a: 1 }, '"map[a:1 b:2]"'],
  ])('writes %s', (_what, value, text) => {
    const { out, log } = recorded();
    log.info('x', { value });
    expect(withoutTime(out[0])).toBe(`level=info msg=x value=${text}\n`);
  });

  it('gives a field with the name of a part of the envelope the prefix of logrus', () => {
    for (const format of ['text', 'json'] as const) {
      const { out, log } = recorded({ format });
      log.info('x', { time: 1, level: 'error', msg: 'forged' });
      if (format === 'text')
        expect(withoutTime(out[0])).toBe('level=info msg=x fields.level=error fields.msg=forged fields.time=1\n');
      else {
        expect(out[0]?.match(/"(?:time|level|msg)":/g)).toHaveLength(3);
        expect(JSON.parse(out[0] ?? '')).toMatchObject({ level: 'info', msg: 'x', 'fields.msg': 'forged' });
      }
    }
  });

  it('is one line of well-formed pairs, whatever texts and keys it gets', () => {
    const pair = /(?:^| )[^\s="]+=(?:"(?:[^"\\\n\r]|\\.)*"|[A-Za-z0-9\-._/@^+]*)/g;
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('a" level="error', '\n', '\\'));
    fc.assert(
      fc.property(text, fc.dictionary(text, text), (message, fields) => {
        const { out, log } = recorded();
        log.info(message, fields);
        expect(out).toHaveLength(1);
        const line = out[0] ?? '';
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(line.trimEnd().replaceAll(pair, '')).toBe('');
        expect(withoutTime(line)).toMatch(/^level=info[ \n]/);
      }),
    );
  });
});

describe('the text format on a terminal', () => {
  const options = { isColored: true, clock: new FakeClock() };

  it('colors level and keys, and shows the seconds since the start', async () => {
    const clock = new FakeClock();
    const { out, log } = recorded({ isColored: true, clock });
    await clock.advance(65_000);
    log.warn('late', { b: 'x y', a: 1 });
    expect(out[0]).toBe(
      `\u001b[33mWARN\u001b[0m[0065] ${'late'.padEnd(44)}  \u001b[33ma\u001b[0m=1 \u001b[33mb\u001b[0m="x y"\n`,
    );
  });

  it('shows the time with ARGOCD_LOG_FORMAT_ENABLE_FULL_TIMESTAMP', () => {
    const { out, log } = recorded({ ...options, hasFullTimestamp: true, timestamp: '2006' });
    log.error('x');
    expect(out[0]).toMatch(/^\u001b\[31mERRO\u001b\[0m\[\d{4}\] x {43} \n$/);
  });

  it('keeps a message with line breaks in its line', () => {
    const { out, log } = recorded(options);
    log.info('a\nb');
    expect(out[0]?.indexOf('\n')).toBe((out[0]?.length ?? 0) - 1);
    expect(out[0]).toContain(String.raw`a\nb`);
  });
});

// What Go's time.Format and strconv.Quote return.
describe('texts as Go writes them', () => {
  const [t, u] = [Date.UTC(2026, 2, 4, 15, 6, 7, 89), Date.UTC(2026, 11, 31)];
  it.each([
    ['2006-01-02T15:04:05Z07:00', '2026-03-04T15:06:07Z', '2026-12-31T00:00:00Z'],
    ['2006-01-02T15:04:05.000Z07:00', '2026-03-04T15:06:07.089Z', '2026-12-31T00:00:00.000Z'],
    ['2006-01-02T15:04:05.999999999Z07:00', '2026-03-04T15:06:07.089Z', '2026-12-31T00:00:00Z'],
    ['Mon Jan _2 15:04:05 MST 2006', 'Wed Mar  4 15:06:07 UTC 2026', 'Thu Dec 31 00:00:00 UTC 2026'],
    ['02/Jan/06 03:04:05 PM -0700', '04/Mar/26 03:06:07 PM +0000', '31/Dec/26 12:00:00 AM +0000'],
    ['Monday, 2 January 2006 3:4:5pm', 'Wednesday, 4 March 2026 3:6:7pm', 'Thursday, 31 December 2026 12:0:0am'],
    ['__2 002 _2006 1 2', ' 63 063 _2026 3 4', '365 365 _2026 12 31'],
    [
      '05,000 05.9999 -07:00 -07 Z0700 Janus Month 2006.0001 .00x',
      '07,089 07.089 +00:00 +00 Z Janus Month 2026.0003 .08x',
      '00,000 00 +00:00 +00 Z Janus Month 2026.0012 .00x',
    ],
    ['unix', 'unix', 'unix'],
    ['20060102150405', '20260304150607', '20261231000000'],
    ['15h "x"', '15h "x"', '00h "x"'],
    ['05.99 .9', '07.08 ', '00 '],
    ['04:05.0000000000', '06:07.089000000', '00:00.000000000'],
  ])('the layout %j', (layout, one, other) => {
    const format = goTimeFormat(layout);
    expect([format(t), format(u)]).toEqual([one, other]);
  });

  it.each([
    ['plain', '"plain"'],
    ['é', '"é"'],
    ['nl\nlevel=error', String.raw`"nl\nlevel=error"`],
    ['q"uote\\', String.raw`"q\"uote\\"`],
    ['\u2028', String.raw`"\u2028"`],
    ['\u200b', String.raw`"\u200b"`],
    ['\u007f', String.raw`"\x7f"`],
    ['\u0001', String.raw`"\x01"`],
    ['\u0007\b\f\r\v', String.raw`"\a\b\f\r\v"`],
    ['😀', '"😀"'],
    ['\u00a0', String.raw`"\u00a0"`],
    ['\u{e0001}', String.raw`"\U000e0001"`],
    ['\ud800', '"\ufffd"'],
  ])('the text %j', (text, quoted) => {
    expect(goQuote(text)).toBe(quoted);
  });

  it('stamps lines of both formats with the layout', () => {
    for (const format of ['text', 'json'] as const) {
      const { out, log } = recorded({ format, timestamp: '"at" 2006', clock: new FakeClock() });
      log.info('x');
      expect(out[0]).toMatch(/time"?[=:]"\\"at\\" \d{4}"/);
    }
  });
});
