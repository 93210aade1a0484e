import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects, isKnownType } from '../index.ts';
import { namedTypes } from '../schema/named-types.ts';

function widget(spec: JsonObject): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec };
}

/** Whether two specs of a Widget differ, with these known types of its fields. */
function differs(fields: Readonly<Record<string, string>>, target: JsonObject, live: JsonObject): boolean {
  const knownTypeFields = Object.entries(fields).map(([field, type]) => ({ field: `spec.${field}`, type }));
  const overrides = { 'example.com/Widget': { useOpenLibs: false, knownTypeFields } };
  const settings = { ...defaultSettings, overrides };
  return diffObjects(widget(target), widget(live), { settings, ignoreDifferences: [] }).modified;
}

describe('knownTypeFields of a custom resource', () => {
  it.each([
    ['core/v1/ResourceList', { cpu: 2, memory: '1024Mi' }, { cpu: '2', memory: '1Gi' }],
    ['core/Quantity', '1000m', '1'],
    ['core/v1/ResourceRequirements', { limits: { cpu: 2 } }, { limits: { cpu: '2' } }],
    ['meta/v1/Duration', '60s', '1m0s'],
    ['core/v1/VolumeSource', { emptyDir: { sizeLimit: '1024Mi' } }, { emptyDir: { sizeLimit: '1Gi' } }],
    ['core/v1/ProbeHandler', { tcpSocket: { port: 80, host: '' } }, { tcpSocket: { port: 80 } }],
    ['core/v1/EphemeralContainerCommon', { name: 'a', tty: false }, { name: 'a' }],
    ['core/v1/NodeAllocatableOverheadResources', { name: 'cpu', perPod: '1000m' }, { name: 'cpu', perPod: '1' }],
    [
      'core/v1/VolumeHealthStatus',
      { lastTransitionTime: '2026-11-25T13:00:00+01:00' },
      { lastTransitionTime: '2026-11-25T12:00:00Z' },
    ],
  ] as const)('%s: two spellings of one value are equal', (type, target, live) => {
    expect(differs({}, { a: target }, { a: live })).toBe(true);
    expect(differs({ a: type }, { a: target }, { a: live })).toBe(false);
    expect(differs({ 'list.a': type }, { list: [{ a: target }] }, { list: [{ a: live }] })).toBe(false);
    expect(differs({ other: type }, { a: target }, { a: live })).toBe(true);
  });

  it("knows the names of Argo CD's types, and no other type by such a name", () => {
    expect(namedTypes.size).toBe(250);
    expect(['core/v1/AvoidPods', 'core/v1/List', 'core/v1/WindowsSecurityContextOptions'].every(isKnownType)).toBe(
      true,
    );
    expect(['core/v1/Deployment', 'core/v1/ObjectMeta', 'PodSpec', 'apps/v1/Deployment'].some(isKnownType)).toBe(false);
  });

  it('core/v1/ResourceList: another amount differs', () => {
    expect(differs({ a: 'core/v1/ResourceList' }, { a: { cpu: 2 } }, { a: { cpu: '3' } })).toBe(true);
    expect(differs({ a: 'core/v1/ResourceList' }, { a: { cpu: 'x' } }, { a: { cpu: 'y' } })).toBe(true);
  });
});
