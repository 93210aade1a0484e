import { describe, expect, it } from '@jest/globals';
import { SizeLimitExceeded } from '../errors.ts';
import { substituteIn } from './environment.ts';

describe('the variables of the build environment', () => {
  it.each([
    ['$NAME ${NAME}', 'app app'],
    ['$$NAME $$', '$NAME $'],
    ['$UNKNOWN ${UNKNOWN} ${constructor}', '  '],
    ['$1 $- a$', '  a$'],
    ['$NAMEx', ''],
  ])('are replaced in %j as os.Expand does', (text, expected) => {
    expect(substituteIn({ NAME: 'app' })(text)).toBe(expected);
  });

  it('do not fill the memory, in one text or in many', () => {
    const path = { PATH: 'p'.repeat(100_000) };
    expect(() => substituteIn(path)('$PATH'.repeat(1000))).toThrow(SizeLimitExceeded);
    const substitute = substituteIn(path);
    const many = (): unknown => Array.from({ length: 1000 }, () => substitute('$PATH'));
    expect(many).toThrow('the variables in the options of the source expand to more than 4194304 characters');
    // Text that names no variable is limited by the size of the Application.
    expect(substituteIn(path)('x'.repeat(5_000_000))).toHaveLength(5_000_000);
  });
});
