/**
 * Small breakages of the hand-over protocol for scripts/mutation-gate.mjs: `from` stands exactly once in `file`. `equivalent` says why a
 * survivor changes nothing that can be seen.
 */
export const mutations = [
  // What must be over before a part is taken up.
  m(
    'waits are dropped',
    'tenure.ts',
    '.every((wait) => hub.settled(wait))) return false',
    '.every(() => true)) return false',
  ),
  m('waiting for everyone is dropped', 'tenure.ts', 'if (entry.everyone === 0) return true;', 'return true;'),
  m('parts of other slots are taken up', 'tenure.ts', '(shard === slot ? [part] : [])', '[part]'),
  m('an older table is obeyed', 'tenure.ts', '|| table.value.epoch < hub.floor(this.#table)) return', ') return'),
  m('a table from before the claim is obeyed', 'tenure.ts', 'if (since < this.#lease.claimedAt ||', 'if ('),
  m(
    'taken up while somebody obeys a newer table',
    'tenure.ts',
    'if (hub.floor(this.#table) > this.#table.epoch) return;',
    '',
  ),
  m(
    'taken up before the acknowledgment',
    'tenure.ts',
    'if (!this.hasAcked() || hub.slots() === undefined) return;',
    '',
  ),
  m(
    'nothing is let go of under a newer table',
    'tenure.ts',
    'entry !== undefined && this.#mayTake(entry, part, hub)',
    'entry !== undefined',
  ),
  m('what was taken up is forgotten under each table', 'tenure.ts', 'old?.has(part) === true || ', ''),
  // The lease.
  m(
    'the lease counts from the answer',
    'tenure.ts',
    'monotonic: sent.monotonic + valid',
    'monotonic: now.monotonic + valid',
  ),
  m(
    'the lease is endless',
    'tenure.ts',
    'monotonic: sent.monotonic + valid, wall: sent.wall + valid',
    'monotonic: sent.monotonic + 100 * valid, wall: sent.wall + 100 * valid',
  ),
  m(
    'a lapsed lease forgets nothing',
    'tenure.ts',
    'if (this.#lease !== undefined && this.leaseLeft(now) === 0) this.forget();',
    '',
  ),
  m(
    'a claim that lapsed counts as the same one',
    'tenure.ts',
    'this.#lease === undefined || this.leaseLeft(now) === 0 || !stood',
    'this.#lease === undefined',
  ),
  m(
    'no margin',
    'timing.ts',
    'const marginMs = Math.max(Math.round(1.25 * heartbeatMs), leastMarginMs);',
    'const marginMs = 1;',
  ),
  m(
    'a margin of a heartbeat',
    'timing.ts',
    'Math.max(Math.round(1.25 * heartbeatMs), leastMarginMs)',
    'Math.round(1.25 * heartbeatMs)',
  ),
  m('never renewed in time', 'timing.ts', 'renewMs: 0.6 * heartbeatMs', 'renewMs: 4 * heartbeatMs'),
  m(
    'a suspend is not noticed',
    'suspend-detector.ts',
    'if (apart - this.#known <= toleranceMs) return false;',
    'return false;',
  ),
  m(
    'after a suspend the lease goes on',
    'tenure.ts',
    'until: { monotonic: over, wall: over }',
    'until: this.#lease.until',
  ),
  m(
    'a write that was answered after a suspend counts',
    'coordinator.ts',
    'if (this.#deps.wasSuspended()) return false;',
    '',
  ),
  // Who is there.
  m(
    'a holder is gone after half its lease',
    'presence.ts',
    'sentAt - known.firstSeen > this.#leaseOf(record)',
    'sentAt - known.firstSeen > this.#leaseOf(record) / 2',
  ),
  m(
    "the observer's lease counts, not the holder's",
    'presence.ts',
    'return Math.max(this.#timing.leaseMs, record.leaseMs ??',
    'return Math.max(this.#timing.leaseMs, 0 ??',
  ),
  m(
    'an older release has a short lease',
    'presence.ts',
    '(isForeign(record) ? usualLeaseMs : longestLeaseMs)',
    'usualLeaseMs',
  ),
  m('silence of others counts while nobody could look', 'presence.ts', 'if (wasAway) this.#observed.clear();', ''),
  m('a renewal is no sign of life', 'presence.ts', 'known.renewals !== seen.renewals || ', ''),
  m(
    'slots of the living are taken',
    'intents.ts',
    '?? allowed.find((each) => hub.presence.isExpired(each))',
    '?? allowed[0]',
  ),
  m(
    'a process that runs counts as gone',
    'home.ts',
    'return home.pid === own.pid || !own.isRunning(home.pid);',
    'return true;',
  ),
  m(
    'another place counts as the same',
    'home.ts',
    'if (home === undefined || own?.place !== home.place) return false;',
    'if (home === undefined || own === undefined) return false;',
  ),
  // Acknowledging.
  m(
    'acknowledged before writes have landed',
    'intents.ts',
    'world.drained ? (tenure.table()?.epoch ?? tenure.acked()) : tenure.acked()',
    '(tenure.table()?.epoch ?? tenure.acked())',
  ),
  m(
    'a write without an answer counts as ended',
    'writes-under-way.ts',
    'else entry.landsUntil = this.#monotonic() + this.#marginMs;',
    'else this.#entries.delete(entry);',
  ),
  m('an error of the server counts as an answer', 'writes-under-way.ts', 'return error.status < 500;', 'return true;'),
  m('a running write counts as ended', 'writes-under-way.ts', 'landsUntil: Number.POSITIVE_INFINITY', 'landsUntil: 0'),
  m(
    'an expired holder is waited for',
    'hub-knowledge.ts',
    '|| record.acked >= epoch || this.presence.isExpired(slot)',
    '|| record.acked >= epoch',
  ),
  m('an acknowledgment of an older table will do', 'hub-knowledge.ts', 'record.acked >= epoch', 'record.acked > 0'),
  // The hub.
  m('a conflict counts as success', 'coordinator.ts', 'if (isBeaten) return false;', 'if (isBeaten) return true;'),
  m(
    'what lost a race is believed',
    'coordinator.ts',
    'if (isBeaten) return false;',
    'if (isBeaten) { member.wrote(intent, sent, this.instant()); return true; }',
  ),
  m(
    'an empty hub is believed at once',
    'intents.ts',
    'if (now.monotonic < (hub.believesEmptyAt() ?? Number.NEGATIVE_INFINITY)) return undefined;',
    '',
  ),
  m(
    'a lost mapping is written anew with nobody in it',
    'intents.ts',
    'const slots = new Map(placeholders);',
    'const slots = new Map<number, SlotRecord>(placeholders.slice(0, 0));',
  ),
  m(
    'holders that stand under our key alone are forgotten',
    'slots-document.ts',
    'for (const [slot, member] of members)',
    'for (const [slot, member] of new Map<number, SlotRecord>())',
  ),
  // The table.
  m('nobody is waited for when a part moves', 'plan.ts', '[...waits, { slot: before, epoch }]', 'waits'),
  m(
    'what is new waits for nobody',
    'plan.ts',
    '!known || (server === unresolvedDestination && renamed) ? context.epoch',
    'false ? context.epoch',
  ),
  m(
    'slots to come get their clusters at once',
    'plan.ts',
    'new Set([...context.absent, ...slotsToCome(current, context)])',
    'new Set(context.absent)',
  ),
  m('nobody stands in', 'plan.ts', 'if (!context.absent.has(home) || able.length === 0) return home;', 'return home;'),
  m(
    'epochs go back',
    'plan.ts',
    '(Math.floor(before / epochStep) + 1) * epochStep',
    '(Math.floor(before / epochStep) - 1) * epochStep',
  ),
  // Rights.
  m('owned without a lease', 'rights.ts', 'return this.leaseLeft() > 0 && (this.#member', 'return (this.#member'),
  m(
    'a replica that leaves takes up',
    'member.ts',
    'if (!this.#leaving && !this.#misplaced) this.#tenure.takeUp(this.#hub);',
    'this.#tenure.takeUp(this.#hub);',
  ),
  m(
    'the slot is given back while writes are under way',
    'intents.ts',
    'if (!world.drained || lease === undefined ||',
    'if (lease === undefined ||',
  ),
  m(
    'a second holder of the slot is not noticed',
    'member.ts',
    'if (!this.#mayKeepSlot(observation, now)) this.#lose();',
    '',
  ),
  m(
    'who plans says nothing of clusters off the table',
    'ownership-report.ts',
    'entries?.has(server) === false',
    'entries?.has(server) === undefined',
  ),
];

function m(name, file, from, to, equivalent) {
  return { name, file, from, to, equivalent };
}
