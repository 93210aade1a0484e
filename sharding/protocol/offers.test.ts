import { describe, expect, it } from '@jest/globals';
import { candidatesOf, offersOf } from './offers.ts';
import type { SlotRecord } from '../documents/slots-document.ts';

function record(slot: number, changes: Partial<SlotRecord> = {}): SlotRecord {
  return { slot, holder: `ctl-${slot}`, incarnation: `p${slot}`, renewals: 1, acked: 0, heartbeat: 0, ...changes };
}

describe('offers', () => {
  it('are those of live holders, with the holders that reach the cluster', () => {
    const records = [
      record(0, { unreached: ['https://a', 'https://b'] }),
      record(1, { reaches: ['https://a', 'https://c'] }),
      record(2, { reaches: ['https://a'], unreached: ['https://b'] }),
      record(3, { unreached: ['https://dead'] }),
    ];
    const offers = offersOf(new Map(records.map((each) => [each.slot, each])), [0, 1, 2]);
    expect([...offers.keys()]).toEqual(['https://a', 'https://b']);
    expect(offers.get('https://a')).toEqual({ unreachedBy: new Set([0]), reachedBy: new Set([1, 2]) });
    expect(offers.get('https://b')).toEqual({ unreachedBy: new Set([0, 2]), reachedBy: new Set() });
  });
});

interface Case {
  readonly home?: number;
  readonly earlier?: number | undefined;
  readonly able?: readonly number[];
  readonly unreachedBy: readonly number[];
  readonly reachedBy: readonly number[];
}

describe('a part of an offered cluster', () => {
  const able = [0, 1, 2];
  it.each<[string, Case, readonly number[] | undefined]>([
    ['goes to those that reach it', { unreachedBy: [0], reachedBy: [1, 2] }, [1, 2]],
    ['stays when none reaches it', { unreachedBy: [0], reachedBy: [] }, [0]],
    ['goes to none that offers it, too', { unreachedBy: [0, 1], reachedBy: [1, 2] }, [2]],
    ['goes to none that cannot own it', { unreachedBy: [0], reachedBy: [7] }, [0]],
    ['stays with its stand-in, whoever reaches it', { earlier: 1, unreachedBy: [0], reachedBy: [2] }, [1]],
    ['leaves a stand-in that does not reach it, too', { earlier: 1, unreachedBy: [0, 1], reachedBy: [2] }, [2]],
    ['stays with a stand-in when none reaches it', { earlier: 1, unreachedBy: [0, 1], reachedBy: [] }, [1]],
    ['returns to a home that reaches it', { earlier: 1, unreachedBy: [], reachedBy: [1] }, undefined],
    [
      'is that of a home that reaches it, though its owner does not',
      { earlier: 1, unreachedBy: [1], reachedBy: [2] },
      undefined,
    ],
    ['goes on when its stand-in is gone', { earlier: 1, able: [0, 2], unreachedBy: [0], reachedBy: [2] }, [2]],
    [
      'returns to its home when its stand-in is gone and none reaches it',
      { earlier: 1, able: [0, 2], unreachedBy: [0], reachedBy: [] },
      [0],
    ],
    ['leaves a stand-in for a dead home', { earlier: 1, able: [1, 2], unreachedBy: [1], reachedBy: [2] }, [2]],
    ['is assigned as usual when nobody is able', { able: [], unreachedBy: [0], reachedBy: [] }, undefined],
    ['that is new goes to those that reach it', { earlier: undefined, unreachedBy: [0], reachedBy: [2] }, [2]],
  ])('%s', (_what, { unreachedBy, reachedBy, ...part }, expected) => {
    const offer = { unreachedBy: new Set(unreachedBy), reachedBy: new Set(reachedBy) };
    expect(candidatesOf(offer, { home: 0, earlier: 0, able, ...part })).toEqual(expected);
  });
});
