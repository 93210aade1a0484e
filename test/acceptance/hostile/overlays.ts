import { climb, configMap, each } from './attempt.ts';
import type { HostileAttempt, RepositoryFile, HostileTargets } from './attempt.ts';

const base = { 'cm.yaml': configMap('base', { a: 'b' }) };

/** Attempts with fields of a kustomization and with the Kustomize fields of Applications. */
export function overlayAttempts(targets: HostileTargets): HostileAttempt[] {
  const { tokenFile, privateFile, port, repository, environmentName } = targets;
  const overlay = (
    name: string,
    lines: readonly string[],
    files: Readonly<Record<string, RepositoryFile>> = {},
  ): HostileAttempt => ({
    name,
    files: { ...base, ...files, 'kustomization.yaml': `${lines.join('\n')}\n` },
  });
  const paths = [tokenFile, climb(privateFile), `file://${tokenFile}`, '/proc/self/environ'];
  const url = `http://127.0.0.1:${port}/kustomize.yaml`;
  const fields = (path: string): readonly (readonly string[])[] => [
    [`configMapGenerator: [{name: g, files: ["leak=${path}"]}]`],
    [`ConfigMapGenerator: [{Name: g, Files: ["leak=${path}"]}]`],
    [`CONFIGMAPGENERATOR: [{name: g, ENVS: ["${path}"]}]`],
    [`secretGenerator: [{name: g, files: ["leak=${path}"], envs: ["${path}"], env: "${path}"}]`],
    [`secretGenerator: [{name: g, literals: ["${environmentName}"]}]`],
    ['resources: [cm.yaml]', `patches: [{path: "${path}", target: {kind: ConfigMap}}]`],
    ['resources: [cm.yaml]', `patchesStrategicMerge: ["${path}"]`],
    [
      'resources: [cm.yaml]',
      `patchesJson6902: [{path: "${path}", target: {version: v1, kind: ConfigMap, name: base}}]`,
    ],
    ['resources: [cm.yaml]', `replacements: [{path: "${path}"}]`],
    ['resources: [cm.yaml]', `openapi: {path: "${path}"}`],
    ['resources: [cm.yaml]', `crds: ["${path}"]`],
    ['resources: [cm.yaml]', `configurations: ["${path}"]`],
    ['resources: [cm.yaml]', `components: ["${path}"]`],
    ['resources: [cm.yaml]', `bases: ["${path}"]`],
    [`resources: ["${path}"]`],
    ['resources: [cm.yaml]', `generators: ["${path}"]`, `transformers: ["${path}"]`, `validators: ["${path}"]`],
    [`helmCharts: [{name: c, releaseName: r, valuesFile: "${path}", additionalValuesFiles: ["x,${path}"]}]`],
    [`helmGlobals: {chartHome: "${path}", configHome: "${path}"}`, 'helmCharts: [{name: c}]'],
    ['helmChartInflationGenerator:', `- {chartName: c, values: "${path}", helmBin: "${path}", chartHome: "/"}`],
  ];
  const inline = (kind: string, body: string): readonly string[] => [
    'generators:',
    '- |-',
    '  apiVersion: builtin',
    `  kind: ${kind}`,
    '  metadata: {name: inline}',
    `  ${body}`,
  ];
  return [
    ...each(
      paths.flatMap((path) => fields(path)),
      (lines) => overlay('kust-field', lines),
    ),
    ...each(paths, (path) => overlay('kust-inline', inline('ConfigMapGenerator', `files: ["leak=${path}"]`))),
    ...each(paths, (path) =>
      overlay('kust-inline-chart', inline('HelmChartInflationGenerator', `valuesFile: "${path}"`)),
    ),
    ...each(['exec', 'starlark', 'go'], (kind) =>
      overlay('kust-function', ['generators: [fn.yaml]'], {
        'fn.yaml': `apiVersion: x/v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/function: |\n      ${kind}: {path: /bin/cat, image: x, args: ["${tokenFile}"], network: true}\n`,
      }),
    ),
    overlay('kust-link', ['configMapGenerator: [{name: g, files: [leak.txt]}]'], { 'leak.txt': { link: tokenFile } }),
    overlay('kust-link-folder', ['configMapGenerator: [{name: g, files: ["all/etc/hostname"]}]'], {
      all: { link: '/' },
    }),
    overlay('kust-link-base', ['resources: [up]'], { up: { link: climb(targets.cacheFolder) } }),
    overlay('kust-double', ['resources: [cm.yaml]', 'resources: [cm.yaml]', `"resources": ["${tokenFile}"]`]),
    overlay('kust-anchor', [`x: &x ["leak=${tokenFile}"]`, 'configMapGenerator: [{name: g, files: *x}]']),
    {
      name: 'kust-two-files',
      files: { Kustomization: `resources: ["${tokenFile}"]`, 'kustomization.yml': `resources: ["${tokenFile}"]` },
    },
    ...each(
      [
        url,
        `git::${url}`,
        `127.0.0.1:${port}/a/b`,
        `http://localhost:${port}/a//b?ref=main`,
        `git@127.0.0.1:a/b`,
        `${repository}//dir-ok`,
        `ext::sh -c "cat ${tokenFile}"`,
        `git::--upload-pack=x`,
      ],
      (remote) => overlay('kust-remote', [`resources: ["${remote}"]`, `components: ["${remote}"]`]),
    ),
    ...each(
      [
        `helmCharts: [{name: c, repo: "http://127.0.0.1:${port}/charts", version: 1.0.0}]`,
        `openapi: {path: "${url}"}`,
        `crds: ["${url}"]`,
      ],
      (line) => overlay('kust-url', ['resources: [cm.yaml]', line]),
    ),
    ...each<Readonly<Record<string, unknown>>>(
      [
        { images: [`nginx=@${tokenFile}`, `--enable-alpha-plugins`, `a=b,c=${tokenFile}`] },
        { namePrefix: `--load-restrictor=LoadRestrictionsNone` },
        { nameSuffix: `\nresources: ["${tokenFile}"]` },
        { namespace: `x\nconfigMapGenerator: [{name: g, files: ["${tokenFile}"]}]` },
        { commonLabels: { 'a: b\nresources': tokenFile } },
        {
          commonAnnotations: { a: `$(cat ${tokenFile})`, b: `\${${environmentName}}` },
          commonAnnotationsEnvsubst: true,
        },
        { components: [tokenFile, climb(privateFile), url] },
        { patches: [{ path: tokenFile, target: { kind: 'ConfigMap' } }] },
        { patches: [{ patch: `resources: ["${tokenFile}"]`, options: { x: true } }] },
        { replicas: [{ name: `--x=${tokenFile}`, count: 1 }] },
        { version: `v5/../../..${tokenFile}` },
        { kubeVersion: `--helm-command=${tokenFile}`, apiVersions: [`x,--values=${tokenFile}`] },
        { ignoreMissingComponents: true, components: [climb(tokenFile)] },
      ],
      (kustomize) => ({
        ...overlay('kust-option', ['resources: [cm.yaml]']),
        source: { kustomize: kustomize as never },
      }),
    ),
  ];
}
