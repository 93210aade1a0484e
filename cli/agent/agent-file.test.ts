import { describe, expect, it } from '@jest/globals';
import { noAgentFile, parseAgentFile, readAgentFile } from './agent-file.ts';

const whole = `
syncOptions: [CreateNamespace=true, ServerSideApply=true]
ignoreDifferences:
  - group: apps
    kind: Deployment
    jsonPointers: [/spec/replicas]
exclusions:
  - apiGroups: [cilium.io]
    kinds: ['*']
health:
  example.com/Widget: |
    return {status = "Healthy"}
`;

describe('the file of an agent', () => {
  it('has sync options, ignored differences, exclusions and health scripts', () => {
    expect(parseAgentFile('a.yaml', whole)).toEqual({
      syncOptions: ['CreateNamespace=true', 'ServerSideApply=true'],
      ignoreDifferences: [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }],
      exclusions: [{ apiGroups: ['cilium.io'], kinds: ['*'] }],
      health: { 'example.com/Widget': 'return {status = "Healthy"}\n' },
    });
    expect(parseAgentFile('a.yaml', '# nothing\n')).toEqual(noAgentFile);
  });

  it('names the core group by an empty text', () => {
    const { exclusions, ignoreDifferences } = parseAgentFile(
      'a.yaml',
      `exclusions: [{apiGroups: [''], kinds: [Pod]}]\nignoreDifferences: [{group: '', kind: Pod, jsonPointers: [/spec]}]`,
    );
    expect(exclusions).toEqual([{ apiGroups: [''], kinds: ['Pod'] }]);
    expect(ignoreDifferences).toEqual([{ group: '', kind: 'Pod', jsonPointers: ['/spec'] }]);
  });

  it.each([
    ['ignoreDifference: []', 'a.yaml:1: ignoreDifference: unknown member: did you mean ignoreDifferences?'],
    ['\nfoo: 1', 'a.yaml:2: foo: unknown member: known are syncOptions, ignoreDifferences, exclusions, health'],
    ['syncOptions: CreateNamespace=true', 'a.yaml:1: syncOptions: expected a list'],
    ['syncOptions:\n- CreateNamespace=true\n- ServerSide=true', 'a.yaml:3: syncOptions[1]: expected a sync option'],
    ['ignoreDifferences:\n- group: apps', 'a.yaml:2: ignoreDifferences[0]: kind is missing'],
    ['ignoreDifferences:\n- kind: A', 'needs one of jsonPointers, jqPathExpressions, managedFieldsManagers'],
    [
      'ignoreDifferences:\n- kind: A\n  jsonPointers: [spec]',
      'a.yaml:3: ignoreDifferences[0].jsonPointers[0]: expected a JSON',
    ],
    ['exclusions:\n- clusters: [x]\n  kinds: [A]', 'a.yaml:2: exclusions[0].clusters: unknown member'],
    ['exclusions:\n- apiGroups: [apps/v1]', 'a.yaml:2: exclusions[0].apiGroups[0]: expected an API group such as apps'],
    ['health:\n  widgets.example.com: x', 'a.yaml:2: health.widgets.example.com: expected group/Kind'],
    ['health:\n  A:', 'health.A: expected a text'],
    ['- a', 'a.yaml:1: the file: expected members'],
    ['a: [', 'a.yaml:2: unexpected end of the stream'],
  ])('is refused with its line: %j', (content, message) => {
    expect(() => parseAgentFile('a.yaml', content)).toThrow(message);
  });

  it('names all problems at once, and a missing file', () => {
    expect(() => parseAgentFile('a.yaml', 'x: 1\ny: 2\n')).toThrow(/a\.yaml:1: .*; a\.yaml:2: /);
    expect(() => readAgentFile('/nowhere/a.yaml')).toThrow('--config /nowhere/a.yaml: ENOENT');
  });
});
