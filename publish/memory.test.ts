import { describe, expect, it } from '@jest/globals';
import { OwnershipLost, Shutdown } from '#base';
import { createMemoryPublisher } from './memory.ts';
import type { PublishTerms } from './types.ts';

const signal = new AbortController().signal;
const terms: PublishTerms = { signal, fence: (send) => send(signal) };
const lost: PublishTerms = { signal, fence: () => Promise.reject(new OwnershipLost('application web')) };

describe('createMemoryPublisher', () => {
  it('gives back what was set last, per application, until it is removed', async () => {
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

  it('11.1: takes managed resources away where there are none to show', async () => {
    const publisher = createMemoryPublisher();
    await publisher.setManagedResources('web', [], terms);
    await publisher.setManagedResources('web', undefined, terms);
    expect(publisher.managedResources('web')).toBeUndefined();
  });

  it('writes nothing for a caller that was stopped', async () => {
    const publisher = createMemoryPublisher();
    const stopped = { ...terms, signal: AbortSignal.abort(new Shutdown()) };
    await expect(publisher.setTree('web', { nodes: [], orphanedNodes: [] }, stopped)).rejects.toThrow(Shutdown);
    expect(publisher.tree('web')).toBeUndefined();
  });

  it('11.1: writes nothing for a replica that does not own the subject any more', async () => {
    const publisher = createMemoryPublisher();
    await publisher.setTree('web', { nodes: [], orphanedNodes: [] }, lost);
    expect(publisher.tree('web')).toBeUndefined();
  });

  it('runs until it is stopped', async () => {
    const controller = new AbortController();
    const running = createMemoryPublisher().run(controller.signal);
    controller.abort(new Shutdown());
    await expect(running).resolves.toBeUndefined();
  });
});
