import type { JsonObject } from '#base';
import { hostileArchive } from './archive.ts';
import type { ArchiveEntry } from './archive.ts';
import { climb, configMap, each, pathsOf } from './attempt.ts';
import type { HostileAttempt, RepositoryFile, HostileTargets } from './attempt.ts';

const head = 'apiVersion: v2\nname: c\nversion: 1.0.0\n';
const dump = configMap('dump', { values: '{{ toYaml .Values | quote }}' });

/** Attempts with charts and the Helm fields of Applications. */
export function chartAttempts(targets: HostileTargets): HostileAttempt[] {
  const { tokenFile, privateFile, port, repository, environmentName, socket } = targets;
  const chart = (name: string, files: Readonly<Record<string, RepositoryFile>> = {}): HostileAttempt => ({
    name,
    files: { 'Chart.yaml': head, 'values.yaml': 'a: b\n', 'templates/cm.yaml': dump, ...files },
  });
  const shown = (
    name: string,
    expression: string,
    files: Readonly<Record<string, RepositoryFile>> = {},
  ): HostileAttempt =>
    chart(name, {
      'templates/cm.yaml': configMap('shown', { leak: `{{ ${expression} | toString | quote }}` }),
      ...files,
    });
  const web = `http://127.0.0.1:${port}`;
  const paths = pathsOf(targets);
  const places = [
    ...paths,
    `x,${tokenFile}`,
    `${web}/values.yaml`,
    `http://localhost:${port}/v.yaml`,
    `https://127.0.0.1:${port}/v`,
    `unix://${socket}`,
    `$values/${climb(tokenFile)}`,
    `--post-renderer=${tokenFile}`,
    `secrets://${tokenFile}`,
  ];
  return [
    ...each(places, (path) => ({ ...chart('helm-values'), source: { helm: { valueFiles: [path] } } })),
    ...each(places, (path) => ({
      ...chart('helm-file'),
      source: { helm: { fileParameters: [{ name: 'leak', path }] } },
    })),
    ...each(
      [
        `a=${tokenFile},b`,
        `leak=${tokenFile}`,
        `leak=${tokenFile},x=/proc/self/environ,y`,
        `--set-file=x=${tokenFile}`,
        `a\\,b=${tokenFile}`,
      ],
      (name) => ({
        ...chart('helm-name'),
        source: {
          helm: { fileParameters: [{ name, path: 'Chart.yaml' }], parameters: [{ name, value: `@${tokenFile}` }] },
        },
      }),
    ),
    ...each<Readonly<Record<string, unknown>>>(
      [
        { values: `leak: {{ .Files.Get "${tokenFile}" }}` },
        { values: `a: !!binary "${tokenFile}"\n<<: !include ${tokenFile}` },
        { valuesObject: { '': `@${tokenFile}`, global: { $ref: tokenFile } } },
        { parameters: [{ name: 'a', value: `$${environmentName} \${${environmentName}}`, forceString: true }] },
        { parameters: [{ name: `a[99999999]`, value: 'x' }] },
        { releaseName: `--values=${tokenFile}` },
        { releaseName: '../../x' },
        { namespace: `--post-renderer=/bin/cat` },
        { version: `v3 --values ${tokenFile}` },
        { kubeVersion: `1.30.0 --values=${tokenFile}` },
        { apiVersions: [`v1,--values=${tokenFile}`, `--set-file=a=${tokenFile}`] },
        { ignoreMissingValueFiles: true, valueFiles: [climb(tokenFile), `*/../${climb(privateFile)}`, `/**/*`] },
        { passCredentials: true, skipCrds: true, valueFiles: [`${web}/x.yaml`] },
      ],
      (helm) => ({ ...chart('helm-option'), source: { helm: helm as never } }),
    ),
    ...each(paths, (link) => shown('helm-files-link', '.Files.Get "leak.txt"', { 'leak.txt': { link } })),
    ...each(paths, (path) => shown('helm-files', `.Files.Get ${JSON.stringify(path)}`)),
    shown('helm-files-glob', '(.Files.Glob "**").AsConfig', { all: { link: targets.cacheFolder } }),
    shown('helm-tpl', `tpl "{{ .Files.Get \\"${climb(tokenFile)}\\" }}{{ env \\"HOME\\" }}" .`),
    shown('helm-env', `env ${JSON.stringify(environmentName)}`),
    shown('helm-expandenv', `expandenv "$${environmentName}"`),
    shown('helm-dns', 'getHostByName "localhost"'),
    shown('helm-lookup', 'lookup "v1" "Secret" "argocd" "" | toYaml'),
    shown('helm-fail', `fail (.Files.Get ${JSON.stringify(tokenFile)})`),
    shown('helm-bomb', 'repeat 300000000 "x"'),
    chart('helm-template-link', {
      'templates/leak.yaml': { link: tokenFile },
      'crds/leak.yaml': { link: privateFile },
    }),
    chart('helm-values-link', { 'values.yaml': { link: tokenFile } }),
    chart('helm-chart-link', { 'Chart.yaml': { link: tokenFile } }),
    chart('helm-helmignore', { '.helmignore': { link: tokenFile } }),
    ...each([`file://${tokenFile}`, `${web}/schema.json`, `file://localhost${privateFile}`, climb(tokenFile)], (ref) =>
      chart('helm-schema', {
        'values.schema.json': JSON.stringify({ $ref: ref, properties: { a: { $ref: `${ref}#/x` } } }),
      }),
    ),
    ...each(
      [
        `file://${targets.cacheFolder}`,
        `file://${climb(targets.cacheFolder)}`,
        `${web}/charts`,
        `oci://127.0.0.1:${port}/charts`,
        `oci://localhost:${port}/c`,
        `@${environmentName}`,
        `alias:${tokenFile}`,
        repository,
        '--repo=x',
      ],
      (repo) => chart('helm-dependency', { 'Chart.yaml': dependency(head, repo), 'Chart.lock': dependency('', repo) }),
    ),
    ...each([`file://${climb(targets.cacheFolder)}`, `${web}/charts`], (repo) =>
      chart('helm-requirements', { 'Chart.yaml': head.replace('v2', 'v1'), 'requirements.yaml': dependency('', repo) }),
    ),
    ...each(archives(targets), (entries) =>
      chart('helm-archive', {
        'Chart.yaml': dependency(head, ''),
        'charts/d-1.0.0.tgz': hostileArchive([
          { name: 'd/Chart.yaml', text: head.replace('name: c', 'name: d') },
          { name: 'd/templates/cm.yaml', text: configMap('sub', { leak: '{{ .Files.Get "leak.txt" | quote }}' }) },
          ...entries,
        ]),
      }),
    ),
    chart('helm-plugin', {
      'plugins/x/plugin.yaml': `name: x\ncommand: cat ${tokenFile}\nhooks: {install: "cat ${tokenFile}"}\n`,
    }),
    { name: 'helm-ref-climb', sources: refs(targets, `$values/${climb(tokenFile)}`) },
    { name: 'helm-ref-absolute', sources: refs(targets, `$values${tokenFile}`) },
    { name: 'helm-ref-link', files: { 'l.yaml': { link: tokenFile } }, sources: refs(targets, '$values/l.yaml') },
    { name: 'helm-ref-name', sources: refs(targets, `$../..${tokenFile}`) },
    chart('helm-override', {
      '.argocd-source.yaml': `helm:\n  valueFiles: ["${tokenFile}", "${web}/o.yaml"]\nrepoURL: ${web}/x.git\n`,
      '.argocd-source-helm-override.yaml': `helm: {fileParameters: [{name: a, path: "${tokenFile}"}]}\n`,
    }),
    chart('helm-override-link', { '.argocd-source.yaml': { link: tokenFile } }),
  ];
}

function refs({ repository }: HostileTargets, file: string): readonly JsonObject[] {
  return [
    { repoURL: repository, path: 'helm-ok', targetRevision: 'main', helm: { valueFiles: [file] } },
    { targetRevision: 'main', ref: 'values' },
  ];
}

const dependency = (chart: string, repo: string): string =>
  `${chart}dependencies:\n- name: d\n  version: 1.0.0\n  repository: ${JSON.stringify(repo)}\n`;

function archives({ tokenFile, privateFile }: HostileTargets): readonly (readonly ArchiveEntry[])[] {
  return [
    [{ name: 'd/leak.txt', type: '2', link: tokenFile }],
    [{ name: 'd/leak.txt', type: '1', link: privateFile }],
    [{ name: 'd/leak.txt', type: '2', link: climb(tokenFile, 12) }],
    [{ name: '/tmp/driftless-hostile-absolute', text: 'x' }],
    [{ name: `d/${climb(tokenFile, 12)}`, text: 'x' }],
    [{ name: 'd/leak.txt', type: '3' }],
    [{ name: 'd/leak.txt', type: '6' }],
    [
      { name: 'd/up', type: '2', link: '/' },
      { name: `d/up${tokenFile}`, text: 'x' },
    ],
    [{ name: 'd/leak.txt', text: 'x', size: 2 ** 32 }],
  ];
}
