/**
 * Small breakages of the hand-over protocol for scripts/mutation-gate.mjs: `from` stands exactly once in `file`. Each names the test that is there
 * for what it breaks; a text instead says why it changes nothing that can be seen.
 */
export const mutations = [
  // What must be over before a part is taken up.
  m(
    'waits are dropped',
    'tenure.ts',
    '.every((wait) => hub.settled(wait))) return false',
    '.every(() => true)) return false',
    by('tenure', '13.6: waits for who is named, until that has acknowledged the table'),
  ),
  m(
    'waiting for everyone is dropped',
    'tenure.ts',
    'if (entry.everyone === 0) return true;',
    'return true;',
    by('tenure', '13.6: waits for everyone where the table says so'),
  ),
  m(
    'parts of other slots are taken up',
    'tenure.ts',
    '(shard === slot ? [part] : [])',
    '[part]',
    by('tenure', '13.6: has nothing left to take up under a table that gives all to others'),
  ),
  m(
    'an older table is obeyed',
    'tenure.ts',
    '|| table.value.epoch < hub.floor(this.#table)) return',
    ') return',
    by('tenure', '13.6: obeys no table that is older than one that somebody has acknowledged'),
  ),
  m(
    'a table from before the claim is obeyed',
    'tenure.ts',
    'if (since < this.#lease.claimedAt ||',
    'if (',
    by('tenure', '13.6: obeys no table that was read before its claim'),
  ),
  m(
    'taken up while somebody obeys a newer table',
    'tenure.ts',
    'if (hub.floor(this.#table) > this.#table.epoch) return;',
    '',
    by('tenure', '13.6: takes up nothing while somebody obeys a newer table than its own'),
  ),
  m(
    'taken up before the acknowledgment',
    'tenure.ts',
    'if (!this.hasAcked() || hub.slots() === undefined) return;',
    '',
    by('tenure', '13.6: takes up what the table gives when it has acknowledged that, and not before'),
  ),
  m(
    'nothing is let go of under a newer table',
    'tenure.ts',
    'entry !== undefined && this.#mayTake(entry, part, hub)',
    'entry !== undefined',
    by('tenure', '13.6: lets go at once of what a newer table gives to another one'),
  ),
  m(
    'what was taken up is forgotten under each table',
    'tenure.ts',
    'old?.has(part) === true || ',
    '',
    by('tenure', '13.6: keeps what it took up when who was waited for comes back'),
  ),
  // The lease.
  m(
    'the lease counts from the answer',
    'tenure.ts',
    'monotonic: sent.monotonic + valid',
    'monotonic: now.monotonic + valid',
    by('tenure', '13.6: counts from the sending of the renewal, not from the answer'),
  ),
  m(
    'the lease is endless',
    'tenure.ts',
    'monotonic: sent.monotonic + valid, wall: sent.wall + valid',
    'monotonic: sent.monotonic + 100 * valid, wall: sent.wall + 100 * valid',
    by('tenure', '13.6: ends a margin before others may take the slot'),
  ),
  m(
    'a lapsed lease forgets nothing',
    'tenure.ts',
    'if (this.#lease !== undefined && this.leaseLeft(now) === 0) this.forget();',
    '',
    by('tenure', '13.6: leaves nothing behind when it has run out'),
  ),
  m(
    'a claim that lapsed counts as the same one',
    'tenure.ts',
    'this.#lease === undefined || this.leaseLeft(now) === 0 || !stood',
    'this.#lease === undefined',
    by('tenure', '13.6: forgets what it had when the lease has run out by its own clock, even if it is renewed later'),
  ),
  m(
    'no margin',
    'timing.ts',
    'const marginMs = Math.max(Math.round(1.25 * heartbeatMs), leastMarginMs);',
    'const marginMs = 1;',
    by('tenure', '13.6: leaves time for a webhook, and for a second renewal'),
  ),
  m(
    'a margin of a heartbeat',
    'timing.ts',
    'Math.max(Math.round(1.25 * heartbeatMs), leastMarginMs)',
    'Math.round(1.25 * heartbeatMs)',
    by('tenure', '13.6: leaves time for a webhook, and for a second renewal'),
  ),
  m(
    'never renewed in time',
    'timing.ts',
    'renewMs: 0.6 * heartbeatMs',
    'renewMs: 4 * heartbeatMs',
    by('tenure', '13.6: leaves time for a webhook, and for a second renewal'),
  ),
  m(
    'a suspend is not noticed',
    'suspend-detector.ts',
    'if (apart - this.#known <= toleranceMs) return false;',
    'return false;',
    by('tenure', '13.6: is measured by a clock that is known to have stood still'),
  ),
  m(
    'after a suspend the lease goes on',
    'tenure.ts',
    'until: { monotonic: over, wall: over }',
    'until: this.#lease.until',
    by('tenure', '13.6: is over at once when the clocks by which it was measured cannot be trusted'),
  ),
  m(
    'a write that was answered after a suspend counts',
    'coordinator.ts',
    'if (this.#deps.suspensions() !== suspended) return false;',
    '',
    by('coordinator', '13.4: a renewal that was answered after a suspend renews nothing'),
  ),
  // Who is there.
  m(
    'a holder is gone after half its lease',
    'presence.ts',
    'sentAt - known.firstSeen > this.#leaseOf(record)',
    'sentAt - known.firstSeen > this.#leaseOf(record) / 2',
    by('presence', '13.6: after its whole lease without a sign of life'),
  ),
  m(
    "the observer's lease counts, not the holder's",
    'presence.ts',
    'return Math.max(this.#timing.leaseMs, record.leaseMs ??',
    'return Math.max(this.#timing.leaseMs, 0 ??',
    by('presence', '13.6: after the lease that stands in its record'),
  ),
  m(
    'an older release has a short lease',
    'presence.ts',
    '(isForeign(record) ? usualLeaseMs : longestLeaseMs)',
    'usualLeaseMs',
    by('presence', '13.6: after the longest lease, when an older release wrote its record without one'),
  ),
  m(
    'silence of others counts while nobody could look',
    'presence.ts',
    'if (wasAway) this.#observed.clear();',
    '',
    by('presence', '13.6: not because nobody could look for a lease'),
  ),
  m(
    'a renewal is no sign of life',
    'presence.ts',
    'known.renewals !== seen.renewals || ',
    '',
    by('presence', '13.6: not while it renews'),
  ),
  m(
    'slots of the living are taken',
    'intents.ts',
    '?? allowed.find((each) => hub.presence.isExpired(each))',
    '?? allowed[0]',
    by('member', '13.6: no claim of a slot whose holder lives'),
  ),
  m(
    'a process that runs counts as gone',
    'home.ts',
    'return home.pid === own.pid || !own.isRunning(home.pid);',
    'return true;',
    by('presence', '13.6: at once only when its process was one of the same place that runs'),
  ),
  m(
    'another place counts as the same',
    'home.ts',
    'if (home === undefined || own?.place !== home.place) return false;',
    'if (home === undefined || own === undefined) return false;',
    by('presence', '13.6: at once only when its process was one of another place'),
  ),
  // Acknowledging.
  m(
    'acknowledged before writes have landed',
    'intents.ts',
    'world.drained ? (tenure.table()?.epoch ?? tenure.acked()) : tenure.acked()',
    '(tenure.table()?.epoch ?? tenure.acked())',
    by('member', '13.6: no acknowledgment before everything that it sent has landed'),
  ),
  m(
    'a write without an answer counts as ended',
    'writes-under-way.ts',
    'else entry.landsUntil = this.#monotonic() + this.#marginMs;',
    'else this.#entries.delete(entry);',
    by('writes-under-way', '13.6: a write whose outcome nobody knows is under way for the margin'),
  ),
  m(
    'an error of the server counts as an answer',
    'writes-under-way.ts',
    'return error.status < 500;',
    'return true;',
    by('writes-under-way', '13.6: a write that a server in trouble answered is, too'),
  ),
  m(
    'a running write counts as ended',
    'writes-under-way.ts',
    'landsUntil: Number.POSITIVE_INFINITY',
    'landsUntil: 0',
    by('writes-under-way', '13.6: a write is under way while it runs, however long'),
  ),
  m(
    'an expired holder is waited for',
    'hub-knowledge.ts',
    '|| record.acked >= epoch || this.presence.isExpired(slot)',
    '|| record.acked >= epoch',
    by('presence', '13.6: and is not waited for any more'),
  ),
  m(
    'an acknowledgment of an older table will do',
    'hub-knowledge.ts',
    'record.acked >= epoch',
    'record.acked > 0',
    by('presence', '13.6: and is not waited for any more'),
  ),
  // The hub.
  m(
    'a conflict counts as success',
    'coordinator.ts',
    'if (isBeaten) return false;',
    'if (isBeaten) return true;',
    by('coordinator', '13.6: renewals that lose every race renew nothing, and pause in between'),
  ),
  m(
    'what lost a race is believed',
    'coordinator.ts',
    'if (isBeaten) return false;',
    'if (isBeaten) { member.wrote(intent, sent, this.instant()); return true; }',
    by('coordinator', '13.6: renewals that lose every race renew nothing, and pause in between'),
  ),
  m(
    'an empty hub is believed at once',
    'intents.ts',
    'if (now.monotonic < (hub.believesEmptyAt() ?? Number.NEGATIVE_INFINITY)) return undefined;',
    '',
    by('member', '13.6: no claim in an empty hub before it has looked twice'),
  ),
  m(
    'a lost mapping is written anew with nobody in it',
    'intents.ts',
    'const slots = new Map(placeholders);',
    'const slots = new Map<number, SlotRecord>(placeholders.slice(0, 0));',
    by('member', '13.6: unknown holders into every slot when the mapping is lost'),
  ),
  m(
    'holders that stand under our key alone are forgotten',
    'slots-document.ts',
    'for (const [slot, member] of members)',
    'for (const [slot, member] of new Map<number, SlotRecord>())',
    by('presence', "13.6: a holder whose name was taken out of Argo CD's key alone still holds its slot"),
  ),
  // The table.
  m(
    'nobody is waited for when a part moves',
    'plan.ts',
    '[...waits, { slot: before, epoch }]',
    'waits',
    by('member', '13.6: waits for the owner before with a part that moves'),
  ),
  m(
    'what is new waits for nobody',
    'plan.ts',
    '!known || (server === unresolvedDestination && renamed) ? context.epoch',
    'false ? context.epoch',
    by('member', '13.6: waits for everyone with a cluster that is new'),
  ),
  m(
    'slots to come get their clusters at once',
    'plan.ts',
    'new Set([...context.absent, ...slotsToCome(current, context)])',
    'new Set(context.absent)',
    by('member', '13.6: leaves clusters where they are until a slot that is to come is held'),
  ),
  m(
    'nobody stands in',
    'plan.ts',
    'if (!context.absent.has(home) || able.length === 0) return home;',
    'return home;',
    by('member', '13.6: gives the clusters of an absent slot to who is there'),
  ),
  m(
    'epochs go back',
    'plan.ts',
    '(Math.floor(before / epochStep) + 1) * epochStep',
    '(Math.floor(before / epochStep) - 1) * epochStep',
    by('member', '13.6: has a higher number than any that anybody knows'),
  ),
  // Rights.
  m(
    'owned without a lease',
    'rights.ts',
    'return this.leaseLeft() > 0 && (this.#member',
    'return (this.#member',
    by('ownership', 'stops by its own clock when the hub is out of reach, and comes back without a restart'),
  ),
  m(
    'a replica that leaves takes up',
    'member.ts',
    'if (!this.#leaving && !this.#misplaced) this.#tenure.takeUp(this.#hub);',
    'this.#tenure.takeUp(this.#hub);',
    by('member', '13.6: nothing taken up any more by a replica that leaves'),
  ),
  m(
    'the slot is given back while writes are under way',
    'member.ts',
    'if (!situation.world.drained || (hadSome',
    'if ((hadSome',
    by('member', '13.6: the slot back when it leaves, but not before everything that it sent has landed'),
  ),
  m(
    'a second holder of the slot is not noticed',
    'member.ts',
    'if (!this.#mayKeepSlot(observation, now)) this.#lose();',
    '',
    by('member', '13.6: nothing more for a slot that somebody else holds now'),
  ),
  m(
    'who plans says nothing of clusters off the table',
    'ownership-report.ts',
    'entries?.has(server) === false',
    'entries?.has(server) === undefined',
    by('ownership', '13.5: is reported by every replica that sees it'),
  ),
];

/** Broken so; found by `by`, or changing nothing that can be seen (`equivalent`). */
function m(name, file, from, to, how) {
  return typeof how === 'string' ? { name, file, from, to, equivalent: how } : { name, file, from, to, by: how };
}

/** A test of sharding/FILE.test.ts whose name contains `test`. */
function by(file, test) {
  return { file, test };
}
