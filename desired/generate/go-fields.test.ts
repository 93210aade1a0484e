import { describe, expect, it } from '@jest/globals';
import { goFields, goNames, withGoNames } from './go-fields.ts';

describe('fields as Go decodes them', () => {
  it('are found in any letter case, and with letters that fold to ASCII', () => {
    expect(goFields({ Files: 1, ['file\u017f']: 2, FILES: 3, filed: 4 }, 'files')).toEqual([3, 1, 2]);
    expect(withGoNames({ ['\u017fecretGenerator']: 1, b: 2 }, goNames(['secretGenerator']), 'x')).toEqual({
      secretGenerator: 1,
      b: 2,
    });
    expect(() => withGoNames({ files: 1, Files: 2 }, goNames(['files']), 'x')).toThrow(/twice/);
  });
});
