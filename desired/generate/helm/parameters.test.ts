import { describe, expect, it } from '@jest/globals';
import { DesiredError } from '../../errors.ts';
import type { RenderJob } from '../plan.ts';
import { fileParameterArgument, parameterArguments } from './parameters.ts';

describe('the name of a file parameter', () => {
  it.each([
    ['tls.crt', '--set-file=tls.crt=../parameters/file-0'],
    ['hosts[0].name', '--set-file=hosts[0].name=../parameters/file-0'],
  ])('%j names one value', (name, argument) => {
    expect(fileParameterArgument(name, '../parameters/file-0')).toBe(argument);
  });

  it.each(['a=x,b', 'a=/etc/passwd,b', 'a={x},b', 'a,b', 'a[0'])('%j is refused', (name) => {
    expect(() => fileParameterArgument(name, 'f')).toThrow(DesiredError);
  });
});

describe('a parameter', () => {
  const argumentsOf = (...parameters: readonly object[]): readonly string[] => {
    const source = { repoURL: 'https://git.example.com/a.git', path: 'charts/web' };
    const request = { appName: 'app', namespace: 'default', project: 'default' };
    const job = { source, request, snapshot: { revision: 'abc' } } as unknown as RenderJob;
    return parameterArguments(job, { parameters: parameters as never }, '../').args;
  };

  it.each([
    ['sets one value, commas included', { name: 'a', value: 'x,b=y' }, ['--set=a=x\\,b=y']],
    [
      'gets the variables of the build environment',
      { name: 'a', value: '$ARGOCD_APP_SOURCE_PATH' },
      ['--set=a=charts/web'],
    ],
    ['stays text if that is asked for', { name: 'a', value: '1', forceString: true }, ['--set-string=a=1']],
  ])('%s', (_what, parameter, expected) => {
    expect(argumentsOf(parameter)).toEqual(expected);
  });

  it('with a name twice has its last value, and beside it the last text', () => {
    const [one, two] = ['1', '2'].map((value) => ({ name: 'a', value }));
    const text = { name: 'a', value: '3', forceString: true };
    expect(argumentsOf(one!, two!)).toEqual(['--set=a=2']);
    expect(argumentsOf(text, one!)).toEqual(['--set-string=a=3', '--set=a=1']);
  });

  it('by a name that sets several values becomes an argument for each, none of which helm can split', () => {
    const args = argumentsOf({ name: 'a=1,b', value: '2' });
    expect(args).toEqual(['--set=a=1', '--set=b=2']);
  });
});
