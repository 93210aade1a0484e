import { describe, expect, it } from '@jest/globals';
import { FairRing, FlowTurns } from './fair-ring.ts';
import type { RingLink } from './fair-ring.ts';

/** A ring of entries named `flow + number`, which `take` also removes. */
class TestRing {
  readonly ring = new FairRing<string>();
  readonly flows = new Map<string, FlowTurns<string>>();
  readonly links = new Map<string, RingLink<string>>();

  add(...entries: readonly string[]): this {
    for (const entry of entries)
      this.links.set(entry, this.ring.append(this.flow(entry[0] ?? ''), entry, this.links.size));
    return this;
  }

  flow(name: string): FlowTurns<string> {
    const flow = this.flows.get(name) ?? new FlowTurns<string>();
    this.flows.set(name, flow);
    return flow;
  }

  remove(entry: string): void {
    this.ring.remove(this.links.get(entry)!);
  }

  takeAll(): string[] {
    const taken: string[] = [];
    for (let entry = this.ring.take(); entry !== undefined; entry = this.ring.take()) {
      this.remove(entry);
      taken.push(entry);
    }
    return taken;
  }
}

describe('FairRing', () => {
  it('serves flows in turn, and the entries of a flow in their order', () => {
    const ring = new TestRing().add('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
    expect(ring.takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
    expect(ring.ring.isEmpty).toBe(true);
  });

  it('skips one turn of a flow for each turn of its debt', () => {
    const ring = new TestRing().add('a1', 'a2', 'b1', 'b2', 'b3', 'b4');
    ring.flow('a').debt = 2;
    expect(ring.takeAll()).toEqual(['b1', 'b2', 'a1', 'b3', 'a2', 'b4']);
  });

  it('charges no debt to a flow that is alone', () => {
    const ring = new TestRing().add('a1', 'a2');
    ring.flow('a').debt = 5;
    expect(ring.takeAll()).toEqual(['a1', 'a2']);
    expect(ring.flow('a').debt).toBe(5);
  });

  it('removes entries from any position, and a flow with its last entry', () => {
    const ring = new TestRing().add('a1', 'a2', 'a3', 'b1', 'c1');
    for (const entry of ['a2', 'b1', 'a1']) ring.remove(entry);
    expect([...ring.ring.heads()].map(({ entry }) => entry)).toEqual(['a3', 'c1']);
    expect(ring.takeAll()).toEqual(['a3', 'c1']);
  });

  it('appends a flow that comes back at the end of the ring', () => {
    const ring = new TestRing().add('a1', 'b1', 'c1');
    ring.remove('a1');
    ring.add('a2');
    expect(ring.takeAll()).toEqual(['b1', 'c1', 'a2']);
  });
});
