import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '#base';
import { refusedFunctions } from './functions/refused-functions.ts';
import { runTemplate } from './run-template.ts';
import { TemplateError } from './template-error.ts';
import { functionNames } from './template-functions.ts';
import { templateValue } from './template-values.ts';

interface RecordedTemplates {
  readonly data: JsonObject;
  /** Without an output, Go refuses the template. */
  readonly cases: readonly { readonly template: string; readonly output: string | null }[];
}

/** Written by scripts/generate/template-data.mjs. */
const recorded = JSON.parse(
  readFileSync(new URL('go-templates.cases.json', import.meta.url), 'utf8'),
) as RecordedTemplates;

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

function run(template: string, data: JsonObject = recorded.data): string {
  return runTemplate(template, templateValue(data), { nowMs });
}

describe('templates', () => {
  const rendered = recorded.cases.flatMap(({ template, output }) =>
    output === null ? [] : [[template, output] as const],
  );
  const refused = recorded.cases.filter(({ output }) => output === null).map(({ template }) => template);

  it.each(rendered)('have the output of Go’s text/template with Sprig: %s', (template, output) => {
    expect(run(template)).toBe(output);
  });

  it.each(refused)('are refused where Go refuses them: %s', (template) => {
    expect(() => run(template)).toThrow(TemplateError);
  });

  it('are compared with Go for every function but those of the present time', () => {
    const all = rendered.map(([template]) => template).join('\n');
    const needsNow = new Set(['now', 'ago', 'fail', 'call']);
    expect(functionNames.filter((name) => !needsNow.has(name) && !new RegExp(`\\b${name}\\b`).test(all))).toEqual([]);
  });

  it.each([
    ['{{ now | date "2006-01-02T15:04:05Z07:00" }}', '2026-01-02T03:04:05Z'],
    ['{{ now.Year }} {{ now.UTC.Format "15:04" }} {{ (now.AddDate 0 0 1).Day }}', '2026 03:04 3'],
    ['{{ ago (now | dateModify "-90s") }} {{ ago (int64 0) | trunc 3 }}', '1m30s 490'],
    ['{{ durationRound (now | dateModify "-50h") }}', '2d'],
    ['{{ date "2006" "no date" }}', '2026'],
    ['{{ kindIs "array" .metadata.list }}{{ kindIs "array" (splitList "," "a") }}', 'truefalse'],
    ['{{ keys (dict "b" 1 "a" 2) }}{{ values (dict "b" 1 "a" 2) }}', '[a b][2 1]'],
    ['{{ trunc 3 "äöü" }}|{{ trunc -3 "äöü" }}|{{ substr 1 4 "äöü" }}', 'ä|ü|ö'],
  ])('%s gives %j at the time of the rendering', (template, expected) => {
    expect(run(template)).toBe(expected);
  });

  it.each([
    ['{{ env "HOME" }}', 'function "env" not defined'],
    ['{{ constructor }}', 'function "constructor" not defined'],
    ['{{ uuidv4 }}', 'the function "uuidv4" is not supported: its result is random'],
    [
      '{{ if false }}{{ genPrivateKey "rsa" }}{{ end }}',
      'the function "genPrivateKey" is not supported: it makes or uses secrets',
    ],
    ['{{ .metadata.subject.b }}', "can't evaluate field b in type string"],
    ['{{ if true }}', 'unexpected EOF'],
    ['{{ end }}', 'unexpected {{end}}'],
    ['{{ $y }}', 'undefined variable "$y"'],
    ['{{ .metadata.a', 'unclosed action'],
    ['{{ regexFind "(" "x" }}', 'error calling regexFind: error parsing regexp'],
    ['{{ fail "no subject" }}', 'error calling fail: no subject'],
    ['{{ repeat (add 1 2) "x" }}', 'wrong type for value; expected int; got int64'],
    ['{{ upper }}', 'wrong number of args for upper: want 1 got 0'],
    ['{{ template "x" }}', 'template "x" not defined'],
    ['{{ eq 1 1.0 }}', 'incompatible types for comparison: int and float64'],
    ['{{ dateInZone "MST" 0 "Europe/Berlin" }}', 'the abbreviation of the time zone Europe/Berlin is not supported'],
    ['{{ printf "%#v" 1 }}', 'printf with %#v is not supported'],
  ])('%s fails with a message that gives the reason', (template, message) => {
    expect(() => run(template)).toThrow(message);
  });
});

it('every function that Argo CD has and Driftless does not is refused with its reason', () => {
  for (const [name, reason] of Object.entries(refusedFunctions)) {
    expect(functionNames).not.toContain(name);
    expect(() => run(`{{ ${name} }}`)).toThrow(`the function "${name}" is not supported: ${reason}`);
  }
});

describe('a hostile template', () => {
  const deep = (open: string, close: string): string => `${open.repeat(200)}${close.repeat(200)}`;
  it.each([
    ['nested loops', '{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}', 'more than 100000 steps'],
    ['a long loop', '{{ range 1000000000 }}{{ end }}', 'more than 100000 steps'],
    ['much output', '{{ range until 1000 }}{{ repeat 60000 "x" }}{{ end }}', 'the output has more than'],
    ['a huge text', '{{ repeat 1000000000 "x" }}', 'a text has more than 1048576 characters'],
    ['texts that double', '{{ $x := "ab" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}', 'more than'],
    ['a replacement that grows', '{{ replace "" (repeat 1000000 "y") (repeat 1000000 "x") }}', 'a text has more than'],
    ['a pattern that grows', '{{ regexReplaceAll "x" (repeat 9999 "x") (repeat 1000 "y") }}', 'more than'],
    ['a wide printf', '{{ printf "%999999d" 1 }}', 'a width of 999999 is refused'],
    ['a deep indent', '{{ indent 100000000 "x" }}', 'a text has more than'],
    ['a long list', '{{ until 100000000 }}', 'a list has more than 100000 items'],
    ['a sequence', '{{ seq 1 1 100000000 }}', 'a list has more than'],
    ['lists that double', '{{ $x := list 1 }}{{ range until 60 }}{{ $x = concat $x $x }}{{ end }}', 'more than'],
    ['shared lists', '{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}', 'more than'],
    [
      'shared lists in JSON',
      '{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}',
      'more than',
    ],
    [
      'shared lists compared',
      '{{ $x := list 1 }}{{ $y := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ $y = list $y $y }}{{ end }}{{ deepEqual $x $y }}',
      'more than',
    ],
    [
      'a map within itself',
      '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ $d }}',
      'more than 100 lists and maps within each other',
    ],
    [
      'a map within itself, copied',
      '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ deepCopy $d }}',
      'more than 100 lists',
    ],
    [
      'a map within itself, merged',
      '{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ $e := dict }}{{ $_ := set $e "a" $e }}{{ merge $d $e }}',
      'more than 100 lists',
    ],
    [
      'endless templates',
      '{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}',
      'exceeded maximum template depth',
    ],
    ['deep blocks', deep('{{ if true }}', '{{ end }}'), 'more than 100 blocks within each other'],
    ['deep parentheses', `{{ ${deep('(', ')')} }}`, 'max expression depth exceeded'],
    [
      'deep JSON',
      `{{ fromJson (printf "%s" (repeat 50000 "[")) | print }}{{ fromJson (cat (repeat 9000 "[") (repeat 9000 "]")) }}`,
      '',
    ],
    [
      'a repeated pattern',
      '{{ regexFindAll "((a{100}){10}|b)*?c" (repeat 100000 "a") -1 }}',
      'error calling regexFindAll',
    ],
    [
      'many searches',
      '{{ range until 1000 }}{{ regexFindAll "a*?b|a" (repeat 20000 "a") -1 }}{{ end }}',
      'would take too long',
    ],
    ['unequal items', '{{ uniq (until 100000) }}', 'read and write more than'],
  ])('is stopped: %s', (_what, template, message) => {
    if (message === '') expect(run(template)).toMatch(/^<nil>/);
    else expect(() => run(template)).toThrow(message);
  });

  it('never ends in another way than with text or a TemplateError', () => {
    const part = fc.constantFrom(
      ...functionNames,
      ...[
        '.',
        '$',
        '.metadata',
        '.metadata.list',
        '.metadata.map',
        '$x',
        '"a"',
        '""',
        '`(`',
        "'a'",
        '-1',
        '1',
        '2.5',
        '1000000',
      ],
      ...['(', ')', '|', ':=', '=', ',', 'nil', 'true', '{{', '}}', '{{-', '-}}', 'if', 'else', 'end', 'range', 'with'],
      ...[
        'define',
        'block',
        'template',
        'break',
        'continue',
        '/*',
        '*/',
        '{{ $x := 1 }}',
        '{{ end }}',
        '{{ range . }}',
      ],
    );
    const action = fc.array(part, { maxLength: 6 }).map((parts) => `{{ ${parts.join(' ')} }}`);
    const call = fc
      .tuple(fc.constantFrom(...functionNames), fc.array(part, { maxLength: 4 }))
      .map(([name, args]) => `{{ ${name} ${args.join(' ')} }}`);
    fc.assert(
      fc.property(fc.array(fc.oneof(action, call, part), { maxLength: 5 }), (parts) => {
        try {
          expect(typeof run(parts.join(' '))).toBe('string');
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
