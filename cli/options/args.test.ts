import { describe, expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { describe as describeOptions, nearest, readArgs } from './args.ts';
import type { OptionSpec } from './args.ts';
import { table } from '../process/output.ts';

const options = {
  text: { flag: 'text', short: 't', kind: 'string', default: 'd', env: 'TEXT', help: 'Text.' },
  count: { flag: 'count', kind: 'int', default: 5, env: 'COUNT', min: 1, max: 9, help: 'Count.' },
  wait: { flag: 'wait', kind: 'seconds', default: 2000, env: 'WAIT', envKind: 'duration', help: 'Wait.' },
  limit: { flag: 'limit', kind: 'duration', default: 0, env: 'LIMIT', envKind: 'ns', help: 'Limit.' },
  loud: { flag: 'loud', kind: 'bool', default: false, env: 'LOUD', help: 'Loud.' },
  names: { flag: 'names', kind: 'csv', default: [], env: 'NAMES', help: 'Names.' },
  pairs: { flag: 'pairs', kind: 'map', default: {}, env: 'PAIRS', help: 'Pairs.' },
  way: { flag: 'way', kind: 'string', default: 'a', env: 'WAY', choices: ['a', 'b'], help: 'Way.' },
  least: { flag: 'least', kind: 'int', default: 0, min: 1, env: 'LEAST', envMin: 0, help: 'Least.' },
  most: { flag: 'most', short: 'm', kind: 'number', default: 0, max: 5, help: 'Most.' },
  shade: {
    flag: 'shade',
    kind: 'string',
    default: 'dark',
    env: 'SHADE',
    choices: ['dark', 'light'],
    ignoresCase: true,
    help: 'Shade.',
  },
  format: { flag: 'format', kind: 'string', default: '', choices: ['', 'json'], help: 'Format.' },
  fancy: { flag: 'fancy', aliases: ['argo-fancy'], kind: 'bool', default: false, help: 'Fancy.' },
  kind: { flag: 'kind', aliases: ['argo-kind'], kind: 'string', default: '', help: 'Kind.' },
  old: { flag: 'old', kind: 'bool', default: false, help: 'Old.', noEffect: 'it is gone' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

const read = (argv: readonly string[], env: Record<string, string> = {}): ReturnType<typeof readArgs<typeof options>> =>
  readArgs(options, argv, env);

describe('readArgs', () => {
  it('takes the flag before the environment before the default', () => {
    expect(read([]).config.text).toBe('d');
    expect(read([], { TEXT: 'env' }).config.text).toBe('env');
    expect(read(['--text', 'flag'], { TEXT: 'env' }).config.text).toBe('flag');
    expect(read(['-t', 'flag']).config.text).toBe('flag');
    expect(read([], { TEXT: '' }).config.text).toBe('d');
  });

  it.each([
    [['--count=3'], 'count', 3],
    [['--wait', '30'], 'wait', 30_000],
    [['--limit', '1m30s'], 'limit', 90_000],
    [['--limit', '3d'], 'limit', 259_200_000],
    [['--loud'], 'loud', true],
    [['--loud=true'], 'loud', true],
    [['--loud=false'], 'loud', false],
    [['--no-loud'], 'loud', false],
    [['--loud=1'], 'loud', true],
    [['--loud=t'], 'loud', true],
    [['--loud=T'], 'loud', true],
    [['--loud=TRUE'], 'loud', true],
    [['--loud=True'], 'loud', true],
    [['--loud', '--loud=0'], 'loud', false],
    [['--loud', '--loud=F'], 'loud', false],
    [['--loud', '--loud=False'], 'loud', false],
    [['--count=0x7'], 'count', 7],
    [['--wait', '1_000'], 'wait', 1_000_000],
    [['--most', '1e-3'], 'most', 0.001],
    [['--names', 'a, b', '--names=c'], 'names', ['a', 'b', 'c']],
    [['--pairs', 'a=1,b=x=y'], 'pairs', { a: '1', b: 'x=y' }],
    [['--way', 'b'], 'way', 'b'],
    [['--shade', 'LIGHT'], 'shade', 'light'],
    [['--most', '-1'], 'most', -1],
    [['-m', '-.5'], 'most', -0.5],
    [['--limit', '-90s'], 'limit', -90_000],
    [['--format', 'json'], 'format', 'json'],
    [['--argo-kind', 'x'], 'kind', 'x'],
    [['--argo-kind=x=y'], 'kind', 'x=y'],
    [['--kind', 'x', '--argo-kind', 'y'], 'kind', 'y'],
    [['--argo-fancy=true'], 'fancy', true],
    [['--fancy', '--argo-fancy=false'], 'fancy', false],
    [['--text', '-'], 'text', '-'],
  ] as const)('%j', (argv, name, value) => {
    expect(read(argv).config[name]).toEqual(value);
    expect(read(argv).given.has(name)).toBe(true);
  });

  it.each([
    [{ WAIT: '90s' }, 'wait', 90_000],
    [{ WAIT: '3d' }, 'wait', 259_200_000],
    [{ LIMIT: '1000000' }, 'limit', 1],
    [{ LOUD: 'TRUE' }, 'loud', true],
    [{ NAMES: 'a,b' }, 'names', ['a', 'b']],
    [{ LEAST: '0' }, 'least', 0],
  ] as const)('environment %j, in its own syntax', (env, name, value) => {
    expect(read([], env).config[name]).toEqual(value);
  });

  it.each([
    [{ COUNT: '10' }, 'COUNT', 'between 1 and 9'],
    [{ COUNT: 'x' }, 'COUNT', 'a whole number'],
    [{ WAIT: '90' }, 'WAIT', 'a duration'],
    [{ LOUD: 'yes' }, 'LOUD', 'true or false'],
    [{ LOUD: '1' }, 'LOUD', 'true or false'],
    [{ COUNT: '0x7' }, 'COUNT', 'a whole number'],
    [{ COUNT: ' 7' }, 'COUNT', 'a whole number'],
    [{ COUNT: '9'.repeat(500) }, 'COUNT', 'a whole number'],
    [{ WAIT: '9'.repeat(500) + 'h' }, 'WAIT', 'a duration'],
    [{ PAIRS: 'a=1,a=2' }, 'PAIRS', 'key=value'],
    [{ WAY: 'c' }, 'WAY', 'one of a, b'],
    [{ LEAST: '-1' }, 'LEAST', 'a whole number, at least 0'],
  ])('a bad environment value %j is a warning and the default holds, as in Argo CD', (env, name, why) => {
    const { config, warnings } = read([], env);
    expect(config).toEqual(read([]).config);
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^ignoring ${name}: must be .*${why}`))]);
  });

  it.each([
    [['--cuont', '3'], 'unknown flag --cuont: did you mean --count? (run with --help for a list)'],
    [['--zzzzzz'], 'unknown flag --zzzzzz (run with --help for a list)'],
    [['--count', '0'], '--count: must be a whole number between 1 and 9, not "0"'],
    [['--limit', '5'], '--limit: must be a duration such as 90s, 5m or 1h30m, not "5"'],
    [['--loud=maybe'], '--loud takes true or false, not "maybe"'],
    [['--loud=tRUE'], '--loud takes true or false, not "tRUE"'],
    [['--loud='], '--loud takes true or false, not ""'],
    [['--count=1_'], '--count: must be a whole number between 1 and 9, not "1_"'],
    [['--most=0x1F'], '--most: must be a number, at most 5, not "0x1F"'],
    [['--way=c'], '--way: must be one of a, b, not "c"'],
    [['--way=B'], '--way: must be one of a, b, not "B"'],
    [['--shade=Grey'], '--shade: must be one of dark, light, not "Grey"'],
    [['--format', 'yaml'], '--format: must be json, not "yaml"'],
    [['--least', '-1'], '--least: must be a whole number, at least 1, not "-1"'],
    [['--least', '0'], '--least: must be a whole number, at least 1, not "0"'],
    [['--most', '6'], '--most: must be a number, at most 5, not "6"'],
    [['--argo-fancy=maybe'], '--argo-fancy takes true or false, not "maybe"'],
    [['--count'], '--count needs a value'],
    [['--count', '--loud'], '--count needs a value'],
    [['-t'], '--text needs a value'],
  ])('a bad flag %j is an error in one line', (argv, message) => {
    expect(() => read(argv)).toThrow(UsageError);
    expect(() => read(argv)).toThrow(message);
  });

  it('warns of what is accepted but does nothing', () => {
    expect(read(['--old']).warnings).toEqual(['--old has no effect: it is gone']);
    expect(read(['--old=false']).warnings).toEqual([]);
    expect(read([]).warnings).toEqual([]);
  });

  it('gives the other words and freezes the values', () => {
    const { config, positionals } = read(['word', '--loud']);
    expect(positionals).toEqual(['word']);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('takes what follows -- as words', () => {
    expect(read(['--count', '3', '--', '--loud=maybe', '-1']).positionals).toEqual(['--loud=maybe', '-1']);
  });

  it('tells flags from the environment', () => {
    const { given, flags } = read(['--count', '3'], { TEXT: 'env' });
    expect([[...given].sort(), [...flags]]).toEqual([['count', 'text'], ['count']]);
  });
});

describe('help', () => {
  it('has a line per flag, with default and environment', () => {
    const lines = describeOptions(options).split('\n');
    expect(lines).toHaveLength(Object.keys(options).length);
    expect(lines[0]).toMatch(/^ {2}-t, --text STRING +Text\. \(default d\) \[TEXT\]$/);
    expect(lines[2]).toMatch(/--wait SECONDS +Wait\. \(default 2\) \[WAIT\]$/);
  });

  it('names aliases, and no default that nobody may give', () => {
    const { kind, least } = options;
    expect(describeOptions({ kind, least }).split('\n')).toEqual([
      expect.stringMatching(/--kind STRING +Kind[.] Also --argo-kind[.]$/),
      expect.stringMatching(/--least INT +Least[.] \[LEAST\]$/),
    ]);
  });

  it('says which flags are taken and not used', () => {
    const spec = { flag: 'old', kind: 'bool', default: false, help: 'Old.', noEffect: 'nobody needs it' } as const;
    expect(describeOptions({ old: spec })).toMatch(/--old +Old[.] No effect: nobody needs it[.]$/);
  });

  it('knows the nearest name, and none when nothing is near', () => {
    expect(nearest('rnu', ['run', 'demo'])).toBe('run');
    expect(nearest('status-procesors', ['status-processors', 'operation-processors'])).toBe('status-processors');
    expect(nearest('xyzzy', ['run', 'demo'])).toBeUndefined();
  });
});

describe('table', () => {
  it('aligns columns as kubectl does', () => {
    expect(
      table(
        ['name', 'health'],
        [
          ['a', 'Healthy'],
          ['longer', ''],
        ],
      ),
    ).toEqual(['NAME     HEALTH', 'a        Healthy', 'longer']);
  });
});
