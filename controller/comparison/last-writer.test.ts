import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { lastWriterOf } from './last-writer.ts';

const entry = (manager: string, second: number, fieldsV1: JsonObject, subresource?: string): JsonObject => ({
  manager,
  time: `2026-01-01T00:00:0${second}Z`,
  fieldsV1,
  ...(subresource === undefined ? {} : { subresource }),
});

const writerOf = (paths: readonly string[], ...managedFields: readonly JsonObject[]): string | undefined =>
  lastWriterOf({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { managedFields } }, paths)?.manager;

const replicas = { 'f:spec': { 'f:replicas': {} } };
const containers = { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': { 'f:image': {} } } } };
const labels = { 'f:metadata': { 'f:labels': { 'f:a': {} } } };

describe('lastWriterOf', () => {
  it.each<[string, readonly string[], readonly JsonObject[], string | undefined]>([
    [
      'the owner of the differing field',
      ['/spec/replicas'],
      [entry('hpa', 1, replicas), entry('person', 2, labels)],
      'hpa',
    ],
    [
      'the owner of an item of a list',
      ['/spec/containers/0/image'],
      [entry('a', 1, containers), entry('b', 2, labels)],
      'a',
    ],
    ['the last of several owners', ['/spec/replicas'], [entry('a', 1, replicas), entry('b', 2, replicas)], 'b'],
    [
      'the last writer of all if nobody owns the field',
      ['/spec/paused'],
      [entry('a', 1, replicas), entry('b', 2, labels)],
      'b',
    ],
    ['the last writer of all without paths', [], [entry('a', 2, replicas), entry('b', 1, labels)], 'a'],
    ['no writer of the status', [], [entry('a', 1, replicas), entry('b', 2, {}, 'status')], 'a'],
    ['a writer of another subresource', [], [entry('a', 1, labels), entry('b', 2, replicas, 'scale')], 'b'],
    ['the other writer within one second', [], [entry('argocd-controller', 1, labels), entry('b', 1, replicas)], 'b'],
    ['nobody if managedFields is empty', ['/spec/replicas'], [], undefined],
  ])('is %s', (_name, paths, entries, manager) => {
    expect([writerOf(paths, ...entries), writerOf(paths, ...entries.toReversed())]).toEqual([manager, manager]);
  });
});
