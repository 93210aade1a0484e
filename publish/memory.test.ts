import { describe, expect, it } from '@jest/globals';
import { OwnershipLost, Shutdown } from '#base';
import { createDiscardingPublisher, createMemoryPublisher } from './memory.ts';
import type { PublishTerms } from './types.ts';

const signal = new AbortController().signal;
const terms: PublishTerms = { signal, fence: (send) => send(signal) };
const lost: PublishTerms = { signal, fence: () => Promise.reject(new OwnershipLost('application web')) };

describe('createMemoryPublisher', () => {
  it('returns the last value per application until it is removed', async () => {
    const publisher = createMemoryPublisher();
    const tree = { nodes: [{ version: 'v1', kind: 'ConfigMap', name: 'a' }], orphanedNodes: [] };
    await publisher.setTree('web', { nodes: [], orphanedNodes: [] }, terms);
    await publisher.setTree('web', tree, terms);
    await publisher.setManagedResources('web', [], terms);
    expect(publisher.tree('web')).toEqual(tree);
    expect(publisher.managedResources('web')).toEqual([]);
    expect(publisher.tree('other')).toBeUndefined();
    await publisher.remove('web', terms);
    expect([publisher.tree('web'), publisher.managedResources('web')]).toEqual([undefined, undefined]);
  });

  it('removes managed resources when there are none', async () => {
    const publisher = createMemoryPublisher();
    await publisher.setManagedResources('web', [], terms);
    await publisher.setManagedResources('web', undefined, terms);
    expect(publisher.managedResources('web')).toBeUndefined();
  });

  it('writes nothing for an aborted caller', async () => {
    const publisher = createMemoryPublisher();
    const stopped = { ...terms, signal: AbortSignal.abort(new Shutdown()) };
    await expect(publisher.setTree('web', { nodes: [], orphanedNodes: [] }, stopped)).rejects.toThrow(Shutdown);
    expect(publisher.tree('web')).toBeUndefined();
  });

  it('writes nothing for a replica that no longer owns the subject', async () => {
    const publisher = createMemoryPublisher();
    await publisher.setTree('web', { nodes: [], orphanedNodes: [] }, lost);
    expect(publisher.tree('web')).toBeUndefined();
  });

  it('runs until it is aborted', async () => {
    const controller = new AbortController();
    const running = createMemoryPublisher().run(controller.signal);
    controller.abort(new Shutdown());
    await expect(running).resolves.toBeUndefined();
  });
});

describe('createDiscardingPublisher', () => {
  it('knows what was published, and keeps nothing else', async () => {
    const publisher = createDiscardingPublisher();
    const tree = { nodes: [], orphanedNodes: [] };
    await publisher.setTree('web', tree, terms);
    expect(publisher.stands('web')).toBe(false);
    await publisher.setManagedResources('web', [], lost);
    expect(publisher.stands('web')).toBe(false);
    await publisher.setManagedResources('web', [], terms);
    expect(publisher.stands('web')).toBe(true);
    await publisher.setManagedResources('web', undefined, terms);
    expect(publisher.stands('web')).toBe(false);
    await publisher.setManagedResources('web', [], terms);
    await publisher.remove('web', terms);
    expect(publisher.stands('web')).toBe(false);
    await publisher.setManagedResources('web', [], terms);
    publisher.forget('web');
    expect(publisher.stands('web')).toBe(false);
  });
});
