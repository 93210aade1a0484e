import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../index.ts';

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
  ] as const)('%s: two spellings of one value are equal', (type, target, live) => {
    expect(differs({}, { a: target }, { a: live })).toBe(true);
    expect(differs({ a: type }, { a: target }, { a: live })).toBe(false);
    expect(differs({ 'list.a': type }, { list: [{ a: target }] }, { list: [{ a: live }] })).toBe(false);
    expect(differs({ other: type }, { a: target }, { a: live })).toBe(true);
  });

  it('core/v1/ResourceList: another amount differs', () => {
    expect(differs({ a: 'core/v1/ResourceList' }, { a: { cpu: 2 } }, { a: { cpu: '3' } })).toBe(true);
    expect(differs({ a: 'core/v1/ResourceList' }, { a: { cpu: 'x' } }, { a: { cpu: 'y' } })).toBe(true);
  });
});
