import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import type { ApplicationSource } from '#model';
import { renderBench } from '../../testing/repository.ts';
import type { RenderBench } from '../../testing/repository.ts';
import type { ToolName } from '../../generate/tools.ts';
import { itWithTool } from '../../testing/with-tool.ts';

let bench: RenderBench;
beforeEach(() => {
  bench = renderBench();
});
afterEach(() => bench.close());

const attributes = '[attr]win text eol=crlf\n*.conf win\n';
const conf = 'a=1\nb=2\n';
const kustomization = 'configMapGenerator:\n- {name: generated, files: [app.conf]}\n';
const chart = 'apiVersion: v2\nname: app\nversion: 1.0.0\n';
const fromFile = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {conf: ';
const jsonnet = `{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {conf: importstr 'app.conf'}}`;

/** Renders a commit with attributes, and one whose files have the bytes of its checkout. */
async function both(
  files: Readonly<Record<string, string>>,
  source: Partial<ApplicationSource>,
): Promise<{ readonly ours: unknown; readonly expected: unknown; readonly plain: unknown }> {
  const render = async (some: Readonly<Record<string, string>>): Promise<unknown> =>
    (await bench.render(bench.repository(some), source)).objects;
  const checkout = Object.entries(files).map(
    ([name, text]) => [name, name.endsWith('.conf') ? text.replaceAll('\n', '\r\n') : text] as const,
  );
  return {
    ours: await render({ ...files, '.gitattributes': attributes }),
    expected: await render(Object.fromEntries(checkout)),
    plain: await render(files),
  };
}

const cases: readonly (readonly [ToolName, string, Readonly<Record<string, string>>, Partial<ApplicationSource>])[] = [
  ['kustomize', 'a generator', { 'app/kustomization.yaml': kustomization, 'app/app.conf': conf }, { path: 'app' }],
  [
    'helm',
    'files of a chart',
    {
      'app/Chart.yaml': chart,
      'app/app.conf': conf,
      'app/templates/a.yaml': `${fromFile}{{ .Files.Get "app.conf" | quote }}}\n`,
    },
    { path: 'app' },
  ],
  [
    'helm',
    'a file parameter',
    { 'app/Chart.yaml': chart, 'x.conf': conf, 'app/templates/a.yaml': `${fromFile}{{ .Values.conf | quote }}}\n` },
    { path: 'app', helm: { fileParameters: [{ name: 'conf', path: '../x.conf' }] } },
  ],
  ['jsonnet', 'an import', { 'app/a.jsonnet': jsonnet, 'app/app.conf': conf }, { path: 'app' }],
];

describe('files that .gitattributes convert', () => {
  for (const [tool, as, files, source] of cases)
    itWithTool(tool, `reach ${tool} as ${as}`, async () => {
      const { ours, expected, plain } = await both(files, source);
      expect(ours).toEqual(expected);
      expect(ours).not.toEqual(plain);
    });
});
