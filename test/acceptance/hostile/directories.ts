import { climb, configMap, each, pathsOf } from './attempt.ts';
import type { HostileAttempt, HostileTargets } from './attempt.ts';

/** Attempts with plain folders and Jsonnet. */
export function directoryAttempts(targets: HostileTargets): HostileAttempt[] {
  const { privateFile, tokenFile, cacheFolder, socket, pid, environmentName } = targets;
  const laughs = `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(',')}]`).join('\n')}\n`;
  return [
    ...each(pathsOf(targets), (link) => ({ name: 'dir-link', files: { 'leak.yaml': { link } } })),
    { name: 'dir-link-folder', files: { all: { link: cacheFolder } }, source: { directory: { recurse: true } } },
    { name: 'dir-link-root', files: { all: { link: '/' } }, source: { directory: { recurse: true, include: '**/*' } } },
    { name: 'dir-link-socket', files: { 'leak.yaml': { link: socket } } },
    { name: 'dir-link-device', files: { 'leak.yaml': { link: '/dev/zero' } } },
    {
      name: 'dir-path-link',
      files: { up: { link: '/' }, 'a.yaml': '' },
      source: { path: `up${privateFile.replace(/\/[^/]*$/, '')}` },
    },
    { name: 'dir-path-climb', source: { path: climb(privateFile).replace(/\/[^/]*$/, '') } },
    { name: 'dir-path-absolute', source: { path: cacheFolder } },
    { name: 'dir-include', source: { path: '.', directory: { recurse: true, include: `{${climb(tokenFile)},/**}` } } },
    { name: 'dir-yaml-bomb', files: { 'bomb.yaml': `${configMap('bomb', {})}${laughs}` } },
    {
      name: 'dir-yaml-include',
      files: { 'a.yaml': configMap('inc', { a: `!!include ${tokenFile}`, b: `!include "${tokenFile}"` }) },
    },
    { name: 'dir-yaml-merge', files: { 'a.yaml': `<<: !!python/object/apply:os.system ["cat ${tokenFile}"]\n` } },
    { name: 'dir-yaml-json-file', files: { 'a.json': `{"$ref": "file://${tokenFile}"}` } },
    { name: 'dir-long-error', files: { 'a.yaml': `${tokenFile}: [\n`, 'b.yaml': { link: climb(tokenFile) } } },
    ...each(pathsOf(targets), (path) => ({
      name: 'jsonnet-importstr',
      files: { 'a.jsonnet': jsonnetMap(`importstr ${JSON.stringify(path)}`) },
    })),
    ...each([tokenFile, climb(privateFile), '/proc/self/environ'], (path) => ({
      name: 'jsonnet-importbin',
      files: { 'a.jsonnet': jsonnetMap(`std.base64(importbin ${JSON.stringify(path)})`) },
    })),
    ...each([tokenFile, privateFile, `/proc/${pid}/environ`], (path) => ({
      name: 'jsonnet-import',
      files: { 'a.jsonnet': `import ${JSON.stringify(path)}` },
    })),
    ...each([tokenFile, privateFile], (link) => ({
      name: 'jsonnet-link',
      files: { 'a.jsonnet': jsonnetMap("importstr 'leak.txt'"), 'leak.txt': { link } },
    })),
    ...each(['tlas', 'extVars'], (kind) => ({
      name: `jsonnet-${kind.toLowerCase()}`,
      files: {
        'a.jsonnet': kind === 'tlas' ? `function(x, y='') ${jsonnetMap('x + y')}` : jsonnetMap("std.extVar('x')"),
      },
      source: {
        directory: {
          jsonnet: {
            [kind]: [
              { name: 'x', value: `importstr ${JSON.stringify(tokenFile)}`, code: true },
              { name: `y=@${tokenFile}`, value: '' },
            ],
          },
        },
      },
    })),
    {
      name: 'jsonnet-environment',
      files: { 'a.jsonnet': jsonnetMap("std.extVar('x')") },
      source: { directory: { jsonnet: { extVars: [{ name: environmentName }, { name: 'x', value: '' }] } } },
    },
    {
      name: 'jsonnet-env-empty',
      files: { 'a.jsonnet': jsonnetMap(`std.extVar(${JSON.stringify(environmentName)})`) },
      source: { directory: { jsonnet: { extVars: [{ name: environmentName, value: '' }] } } },
    },
    ...each(['/', cacheFolder, climb(cacheFolder), '..', '-J/'], (lib) => ({
      name: 'jsonnet-libs',
      files: { 'a.jsonnet': jsonnetMap(`importstr ${JSON.stringify(tokenFile.slice(1))}`) },
      source: { directory: { jsonnet: { libs: [lib] } } },
    })),
    { name: 'jsonnet-trace', files: { 'a.jsonnet': `error (importstr ${JSON.stringify(tokenFile)})` } },
    { name: 'jsonnet-output-bomb', files: { 'a.jsonnet': jsonnetMap("std.repeat('x', 200000000)") } },
  ];
}

const jsonnetMap = (expression: string): string =>
  `{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'jsonnet'}, data: {leak: ${expression}}}`;
