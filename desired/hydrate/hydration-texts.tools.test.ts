import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController, systemClock } from '#base';
import type { JsonObject } from '#base';
import { createHydrationTexts } from '../assembly.ts';
import { createInProcessRunner } from '../command/in-process.ts';
import type { DesiredLimits } from '../limits.ts';
import { machineTools, testRenderer } from '../testing/repository.ts';
import { describeWithTool } from '../testing/with-tool.ts';
import { defaultReadmeTemplate } from './commit-texts.ts';
import type { HydratorMetadata } from './dry-commit.ts';
import type { HydrationTexts } from './hydration-texts.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'driftless-texts-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const { signal } = newAbortController();
const metadata: HydratorMetadata = {
  repoURL: 'https://git/example',
  drySha: '3ff41cc5247197a6caf50216c4c76cc29d78a97d',
  commands: ['helm template .'],
  author: 'Ä <a@x>',
  subject: 'sub "ject": \u{1f600} \u0085',
  body: 'b\n',
  references: [{ sha: 'abcdef0123', repoURL: 'https://code', subject: 's', author: 'r <r@x>' }, { subject: 'none' }],
};

function texts(limits: Partial<DesiredLimits> = {}, tools = machineTools): HydrationTexts {
  const commands = createInProcessRunner({ clock: systemClock, env });
  return createHydrationTexts({ clock: systemClock, renderer: testRenderer(root, commands, tools), limits });
}

const message = (template: string, limits: Partial<DesiredLimits> = {}): Promise<string> =>
  texts(limits).message({ template, project: 'default' }, metadata, signal);

describe('without helm', () => {
  it('the default texts are rendered, and a template of argocd-cm names the missing helm', async () => {
    const none = texts({}, () => undefined);
    const usual = { template: '', project: '' };
    expect(await none.message(usual, metadata, signal)).toContain('3ff41cc: sub');
    expect(await none.readmes(usual, [metadata], signal)).toEqual([expect.stringContaining('git clone')]);
    const own = { template: 'x', project: '' };
    const reason = 'helm is not installed where sources are rendered';
    await expect(none.message(own, metadata, signal)).rejects.toThrow(reason);
    await expect(none.readmes(own, [metadata], signal)).rejects.toThrow(`failed to execute readme template: ${reason}`);
  });
});

describeWithTool('helm', 'templates of hydrated commits', () => {
  it('give the default texts when they are the default templates of Argo CD', async () => {
    const usual = { template: '', project: '' };
    const all = [metadata, { repoURL: 'r', drySha: 'd' }, { ...metadata, references: [{}, { sha: 'zz' }] }];
    expect(await texts().readmes({ template: defaultReadmeTemplate, project: '' }, all, signal)).toEqual(
      await texts().readmes(usual, all, signal),
    );
    expect(await message(defaultMessageTemplate)).toBe(await texts().message(usual, metadata, signal));
  });

  it('get the metadata by the names of Argo CD, and keep every byte of it', async () => {
    expect(await message('{{ .metadata.subject }}|{{ (index .metadata.references 0).commit.sha }}\n\n---\nx: {')).toBe(
      `${metadata.subject ?? ''}|abcdef0123\n\n---\nx: {`,
    );
    const template = '{{ .Subject }}|{{ range .References }}{{ .Commit.SHA }},{{ end }}{{ .Commands }}';
    const own = { template, project: '' };
    expect(await texts().readmes(own, [metadata, { repoURL: 'r', drySha: 'd' }], signal)).toEqual([
      `${metadata.subject ?? ''}|abcdef0123,,[helm template .]`,
      '|[]',
    ]);
    expect(await texts().readmes(own, [], signal)).toEqual([]);
  });

  it.each([
    ['a\nb {{ env "HOME" }}', 'line 2: function "env" not defined'],
    ['{{ expandenv "$HOME" }}', 'line 1: function "expandenv" not defined'],
    ['{{ if true }}', 'line 1: unexpected EOF'],
    ['\n\n{{ end }}', 'line 3: unexpected {{end}}'],
    ['{{ $y }}', 'line 1: undefined variable "$y"'],
    ['a\n{{ .metadata.a', 'line 2: unclosed action'],
    ['a\nb {{ .metadata.subject.x }}', "line 2: at <.metadata.subject.x>: can't evaluate field x"],
    ['{{ regexFind "(" "x" }}', 'error calling regexFind: '],
    ['{{ upper }}', 'wrong number of args for upper: want 1 got 0'],
    ['{{ template "x" }}', 'template "x" not defined'],
    ['{{ printf "no %s" .metadata.drySha | fail }}', 'no 3ff41'],
    ['{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}', 'exceeded maximum template depth'],
  ])('fail with the line and the reason: %j', async (template, reason) => {
    await expect(message(template)).rejects.toMatchObject({
      code: 'DESIRED_TEMPLATE',
      message: expect.stringContaining(reason),
    });
  });

  it('fail for README.md as a whole, with what Argo CD writes before the reason', async () => {
    const own = { template: 'x\n{{ fail "no commands" }}', project: '' };
    await expect(texts().readmes(own, [metadata], signal)).rejects.toThrow(
      'failed to execute readme template: no commands',
    );
  });

  it('see neither the environment, nor the network, nor files', async () => {
    const template = '{{ getHostByName "localhost" }}|{{ lookup "v1" "Secret" "" "" }}|{{ .Files }}|{{ .Values }}';
    expect(await message(template)).toBe('|map[]||');
  });

  it('are stopped when they take too long, too much memory or print too much', async () => {
    const endless = '{{ range until 100000000 }}{{ range until 100000000 }}{{ end }}{{ end }}';
    const limits = { maxToolBytes: 2 ** 24, maxToolMemoryBytes: 2 ** 29 };
    await expect(message(endless, { ...limits, toolTimeoutMs: 3000 })).rejects.toThrow(/took longer|memory/);
    const long = '{{ range until 100 }}{{ repeat 60000 "x" }}{{ end }}';
    await expect(message(long, limits)).rejects.toThrow('the output has more than 1048576 bytes');
    await expect(message('{{ repeat 200000000 "x" }}', limits)).rejects.toThrow(/more than/);
  }, 120_000);
});

/**
 * The recorded templates that helm's `tpl` renders otherwise than Go, with its output; null: it
 * fails. A missing member is empty, a member of a missing one fails, `fromJson` reads objects only.
 */
const helmDiffers: Readonly<Record<string, string | null>> = {
  '{{.metadata.missing}}|{{.metadata.missing.x.y}}|{{.metadata.nil}}': null,
  '{{ define "t" }}[{{ . }}]{{ end }}{{ template "t" .metadata.n }}{{ template "t" }}': '[3][]',
  '{{ block "b" .metadata.map }}{{ .a }}{{ end }}{{ template "b" .metadata.map.inner }}': '1',
  '{{ index .metadata.map "zzz" }}': '',
  '{{ slice .metadata.emptyList 0 }}': '',
  '{{ first (list) }}|{{ last (list) }}|{{ rest (list) }}|{{ initial (list) }}|{{ reverse (list) }}|{{ compact (list 0 1 "" "a" nil false) }}|{{ uniq (list 1 1 2 "a" "a" nil) }}|{{ without (list 1 2 3 2) 2 }}|{{ has 2 (list 1 2) }}|{{ has 2.0 (list 1 2) }}|{{ has 1 nil }}':
    '||[]|[]|[]|[1 a]|[1 2 a <nil>]|[1 3]|true|false|false',
  '{{ get .metadata.missing "a" }}': null,
  '{{ empty "" }}{{ empty 0 }}{{ empty "a" }}{{ empty (dict) }}{{ empty nil }}{{ coalesce nil "" 0 "x" }}{{ coalesce }}{{ all 1 "a" }}{{ all 1 "" }}{{ all }}{{ any 0 1 }}{{ any }}':
    'truetruefalsetruetruextruefalsetruetruefalse',
  '{{ (fromJson "{\\"a\\":[1,2.5,null,true]}").a }}{{ fromJson "{" }}{{ typeOf (fromJson "1") }}{{ fromJson "\\"x\\"" }}{{ mustToJson 1 }}{{ mustToPrettyJson (list 1) }}{{ mustToRawJson "<" }}{{ mustFromJson "1" }}':
    '[1 2.5 <nil> true]map[Error:unexpected end of JSON input]map[string]interface {}map[Error:json: cannot unmarshal string into Go value of type map[string]interface {}]1[\n  1\n]"<"1',
  '{{ .metadata.constructor }}{{ .metadata.map.toString }}': '',
  '{{ getHostByName "localhost" }}': '',
};

describeWithTool('helm', 'templates recorded with Go’s text/template and the functions of Argo CD', () => {
  interface RecordedTemplates {
    readonly data: JsonObject;
    /** Without an output, Go refuses the template. */
    readonly cases: readonly { readonly template: string; readonly output: string | null }[];
  }

  /** Written by scripts/generate/template-data.mjs. */
  const { data, cases } = JSON.parse(
    readFileSync(new URL('go-templates.cases.json', import.meta.url), 'utf8'),
  ) as RecordedTemplates;
  const failing = cases.filter(
    ({ template, output }) => (template in helmDiffers ? helmDiffers[template] : output) === null,
  );

  it('have the same output, but for missing members and fromJson', async () => {
    const rendered = cases.filter((one) => !failing.includes(one));
    const items = rendered.map(({ template }) => ({ template, data }));
    // One helm for all of them: each is a template within the template.
    const outputs = await texts().render({ template: '{{ tpl .template .data }}', project: '' }, items, signal);
    const expected = rendered.map(({ template, output }) => [template, helmDiffers[template] ?? output]);
    expect(rendered.map(({ template }, i) => [template, outputs[i]])).toEqual(expected);
  }, 120_000);

  it('are refused where Go refuses them', async () => {
    const taken: string[] = [];
    for (const { template } of failing) {
      const result = texts().render({ template, project: '' }, [data], signal);
      await result.then(
        () => taken.push(template),
        (error: unknown) => expect(error).toMatchObject({ code: 'DESIRED_TEMPLATE' }),
      );
    }
    expect(taken).toEqual([]);
  }, 600_000);
});

const defaultMessageTemplate = `{{.metadata.drySha | trunc 7}}: {{ .metadata.subject }}
{{- if .metadata.body }}

{{ .metadata.body }}
{{- end }}
{{ range $ref := .metadata.references }}
{{- if and $ref.commit $ref.commit.author }}
Co-authored-by: {{ $ref.commit.author }}
{{- end }}
{{- end }}
{{- if .metadata.author }}
Co-authored-by: {{ .metadata.author }}
{{- end }}
`;
