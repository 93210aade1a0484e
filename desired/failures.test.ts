import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { CommandError, GenerationPaused, ManifestError, RendererUnavailable, ToolFailed } from './errors.ts';
import { PausedFailures } from './failures.ts';
import { defaultLimits } from './limits.ts';

const timeOut = new CommandError('COMMAND_TIMEOUT', 'jsonnet took longer than 60 s');

function failedWith(error: Error, times = 3): PausedFailures {
  const failures = new PausedFailures(new FakeClock(), defaultLimits);
  for (let i = 0; i < times; i += 1) failures.failed('key', error, 'default');
  return failures;
}

describe('the pause of a source that fails', () => {
  it.each<[string, Error]>([
    ['a program that took too long', timeOut],
    ['a file that took too long to read', new ManifestError('reading it takes longer than 20 s', timeOut)],
  ])('applies to a hard refresh after %s', (_name, error) => {
    const failures = failedWith(error);
    expect(() => failures.check('key', false, 'default')).toThrow(GenerationPaused);
    expect(() => failures.check('key', true, 'default')).toThrow(GenerationPaused);
    expect(() => failedWith(error, 2).check('key', true, 'default')).not.toThrow();
  });

  it('does not apply to a hard refresh after other failures', () => {
    const failures = failedWith(new ToolFailed('helm failed'));
    expect(() => failures.check('key', false, 'default')).toThrow(GenerationPaused);
    expect(() => failures.check('key', true, 'default')).not.toThrow();
  });

  it('does not start if the renderer is unavailable', () => {
    const failures = failedWith(new RendererUnavailable('it was killed'), 10);
    expect(() => failures.check('key', false, 'default')).not.toThrow();
  });
});
