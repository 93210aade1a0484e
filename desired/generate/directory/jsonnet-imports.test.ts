import { describe, expect, it } from '@jest/globals';
import { importsOf } from './jsonnet-imports.ts';

describe('the imports of a Jsonnet text', () => {
  it.each<[string, string, (string | [string])[]]>([
    [
      'code, text and bytes',
      `local a = import 'a.libsonnet'; importstr "b" + importbin @'c''d'`,
      ['a.libsonnet', ['b'], ["c'd"]],
    ],
    ['comments between', `import /* import 'x' */ // import 'y'\n # import 'z'\n 'a'`, ['a']],
    ['no imports in comments and strings', `'import "x"' + "import 'y'" + @"import 'z' "" import 'v'"`, []],
    ['none in a text block', `{ a: |||\n    import 'x'\n\n      import 'y'\n  |||, b: import 'z' }`, ['z']],
    ['one behind a text block that looks open', `|||-\n\n\timport 'x'\n||| + import 'a'`, ['a']],
    ['escapes', `import "a\\u002fb\\/c\\"d"`, ['a/b/c"d']],
    ['words that only begin so', `local importer = 1, ximport = 2; importer + ximport`, []],
    ['operators around comments', `1 */* import 'x' */2 +// import 'y'\n import 'a'`, ['a']],
    ['a comment that is closed late', `/*/ import 'x' */ import 'a'`, ['a']],
    ['digits before', `[1,import'a']`, ['a']],
    ['no white space', `import"a"import'b'`, ['a', 'b']],
  ])('%s', (_name, text, expected) => {
    const found = importsOf(text, 'x.jsonnet').map(({ path, isCode }) => (isCode ? path : [path]));
    expect(found).toEqual(expected);
  });

  it.each([
    [`import ('a')`, /Computed imports/],
    [`import 'a' + import x`, /Computed imports/],
    [`import |||\n a\n|||`, /Computed imports/],
    [`import`, /Unexpected end/],
    [`'abc`, /Unterminated String/],
    [`@"abc""`, /Unterminated String/],
    [`@x`, /junk after/],
    [`/* abc`, /no terminating/],
    [`||| a`, /new line/],
    [`|||\nx\n|||`, /must start with whitespace/],
    [`|||\n x\nimport 'a'`, /not terminated/],
    [`import 'a\\qb'`, /Unknown escape/],
  ])('refuses %j, which could hide an import', (text, why) => {
    expect(() => importsOf(text, 'x.jsonnet')).toThrow(why);
  });
});
