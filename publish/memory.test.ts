import { describe, expect, it } from '@jest/globals';
import { Shutdown } from '#base';
import { createMemoryPublisher } from './memory.ts';

const never = new AbortController().signal;

describe('createMemoryPublisher', () => {
  it('gives back what was set last, per application, until it is removed', async () => {
    const publisher = createMemoryPublisher();
    const tree = { nodes: [{ version: 'v1', kind: 'ConfigMap', name: 'a' }], orphanedNodes: [] };
    await publisher.setTree('web', { nodes: [], orphanedNodes: [] }, never);
    await publisher.setTree('web', tree, never);
    await publisher.setManagedResources('web', [], never);
    expect(await publisher.tree('web', never)).toEqual(tree);
    expect(await publisher.managedResources('web', never)).toEqual([]);
    expect(await publisher.tree('other', never)).toBeUndefined();
    await publisher.remove('web', never);
    expect([await publisher.tree('web', never), await publisher.managedResources('web', never)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('writes nothing for a caller that was stopped', async () => {
    const publisher = createMemoryPublisher();
    const stopped = AbortSignal.abort(new Shutdown());
    await expect(publisher.setTree('web', { nodes: [], orphanedNodes: [] }, stopped)).rejects.toThrow(Shutdown);
    expect(await publisher.tree('web', never)).toBeUndefined();
  });

  it('runs until it is stopped', async () => {
    const controller = new AbortController();
    const running = createMemoryPublisher().run(controller.signal);
    controller.abort(new Shutdown());
    await expect(running).resolves.toBeUndefined();
  });
});
