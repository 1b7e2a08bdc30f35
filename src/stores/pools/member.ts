import type { PoolAnswer, PoolAsk, PoolEnded, PoolRenewal, PoolSettings, PoolSnapshot } from '../../domain/pool.js';
import type { OwnedEvent } from '../../pool/scheduler.js';
import { Alone } from './alone.js';
import { Beats } from './beats.js';
import { AGAIN_MS, BACKGROUND_MS, IDLE_MS, MAX_CALLS, OVERDUE_MS } from './bounds.js';
import { Calls, type Decided } from './calls.js';
import { Contact } from './contact.js';
import { Keeping } from './keeping.js';
import { AskLine } from './lines.js';
import { withKnown, type Standing } from './link.js';
import { NOTED, NOTHING_NEXT, type Batch, type Next, type Reply, type Request, type Told } from './messages.js';
import { OwnLeases, registrations, type OwnLease } from './own-leases.js';
import type { MemberParts } from './parts.js';
import { grantedLate, noAnswer, overdue } from './share.js';

/** One processor at one pool: its own leases, who decides about them, and what holds while nobody does. */
export class Member {
  readonly #leases = new OwnLeases();
  readonly #calls: Calls;
  readonly #line: AskLine;
  readonly #beats: Beats;
  readonly #alone: Alone;
  readonly #contact: Contact;
  #keeping: Keeping | null = null;
  /** Of the keeper that is followed; null: none is known. */
  #epoch: number | null = null;
  /** The keeper may not know all of the leases: they are to be told. */
  #isBehind = true;
  #processors: readonly string[] = [];
  /** The same, since it uses the pool. */
  #known: readonly string[] = [];
  /** Number of the latest full registration, and of the latest batch that was heard. */
  #registration = 0;
  #heard = 0;
  #followedMs = -Infinity;
  #usedMs: number;
  #latestMs = 0;
  #closing = false;

  /** Whether no keeper answers. */
  get isAway(): boolean {
    return this.#contact.isAway;
  }

  constructor(private readonly parts: MemberParts) {
    const { clock, link, processor, random } = parts;
    const onFault = (error: unknown): void => { parts.observer.poolFault(parts.poolId, error); };
    this.#usedMs = clock.nowMs();
    this.#calls = new Calls(clock, MAX_CALLS);
    this.#contact = new Contact(clock);
    this.#alone = new Alone({
      ...{ ...parts, leases: this.#leases, nowMs: () => this.#now(this.#latestMs), processors: () => this.#processors.length },
      onEvents: (events) => { this.#hearShare(events); },
    });
    this.#line = new AskLine(processor, (batch) => link.send(batch), (error) => {
      onFault(error);
      this.#isBehind = true;
    });
    this.#beats = new Beats({
      clock, random, link, onFault,
      beat: () => ({ epoch: this.#keeping?.epoch ?? null, claims: !this.#closing, save: this.#keeping?.save() ?? null }),
      onStanding: (standing, askedMs) => { this.#stand(withKnown(standing, this.#known), askedMs); },
      rest: () => this.#rest(),
      leave: () => this.#leave(),
      look: () => { this.#look(); },
    });
    link.listen({
      told: (batch) => { this.#hearTold(batch); },
      asked: (batch) => { this.#keeping?.hear(batch); },
      fault: (error) => {
        onFault(error);
        this.#isBehind = true;
      },
    });
  }

  async ask(ask: PoolAsk): Promise<PoolAnswer> {
    const nowMs = this.#now(ask.nowMs);
    const lease = this.#leases.begin(ask, nowMs);
    if (this.isAway && lease.state === 'asking') return this.#decideAway(lease);
    const reply = await this.#call((seq) => ({ kind: 'ask', seq, ask, nowMs }), this.parts.timeoutMs);
    if (reply !== undefined) return reply as PoolAnswer;
    if (this.#contact.unanswered()) this.#goAway();
    return this.#decideAway(lease);
  }

  async settle(leaseId: string, work: number, nowMs: number): Promise<PoolEnded> {
    const atMs = this.#now(nowMs);
    const lease = this.#leases.get(leaseId);
    if (lease !== undefined) {
      this.#alone.end(lease, work);
      this.#leases.runs(lease, atMs);
      this.#leases.ends(lease);
    }
    return this.#end((seq) => ({ kind: 'settle', seq, leaseId, work, nowMs: atMs }));
  }

  async cancel(leaseId: string, nowMs: number): Promise<PoolEnded> {
    const atMs = this.#now(nowMs);
    this.#withdraw(leaseId);
    return this.#end((seq) => ({ kind: 'cancel', seq, leaseId, nowMs: atMs }));
  }

  async renew(owner: string, renewals: readonly PoolRenewal[], nowMs: number): Promise<Next> {
    const atMs = this.#now(nowMs);
    for (const renewal of renewals) this.#leases.renewed(renewal);
    this.#alone.renew(owner, renewals);
    return this.isAway ? NOTHING_NEXT : this.#inBackground((seq) => ({ kind: 'renew', seq, owner, renewals, nowMs: atMs }), () => NOTHING_NEXT);
  }

  async tick(settings: PoolSettings, nowMs: number): Promise<Next> {
    const atMs = this.#now(nowMs);
    if (this.isAway) return { nextAtMs: this.#alone.tick(settings, atMs) };
    return this.#inBackground((seq) => ({ kind: 'tick', seq, settings, nowMs: atMs }), () => NOTHING_NEXT);
  }

  async snapshot(nowMs: number): Promise<PoolSnapshot | null> {
    const atMs = this.#now(nowMs);
    return this.isAway ? this.#alone.snapshot(atMs) : this.#inBackground<PoolSnapshot | null>((seq) => ({ kind: 'snapshot', seq, nowMs: atMs }), noAnswer);
  }

  /** Leaves the pool: another may be keeper at once. */
  async close(): Promise<void> {
    this.#closing = true;
    const left = this.#beats.stop();
    this.#calls.release();
    this.#alone.stop();
    if (this.#keeping === null && this.#epoch !== null) await this.#line.flush();
    await left;
    await this.#leave();
    this.parts.link.close();
  }

  /** The time to go by: tests tell it. */
  #now(nowMs: number): number {
    this.#latestMs = Math.max(this.#latestMs, nowMs);
    return this.parts.time === 'caller' ? nowMs : Math.floor(this.parts.clock.nowMs());
  }

  #call(make: (seq: number) => Decided, ms: number): Promise<Reply | undefined> {
    this.#usedMs = this.parts.clock.nowMs();
    const { request, reply } = this.#calls.begin(make, ms);
    this.#post(request);
    return reply;
  }

  /** What no request waits for. */
  async #inBackground<T extends Reply>(make: (seq: number) => Decided, otherwise: () => T): Promise<T> {
    const reply = await this.#call(make, BACKGROUND_MS);
    return reply === undefined ? otherwise() : (reply as T);
  }

  /** To the keeper: at once if it is here and sure to be it. What has nobody to go to stays among the calls, and goes to the next. */
  #post(request: Request): void {
    if (this.#keeping !== null) {
      if (this.#keeping.isFresh) this.#keeping.ask(request);
      else this.#isBehind = true;
    } else if (this.#epoch === null) this.#beats.soon(0);
    else this.#line.post(request);
  }

  /** An end is noted whoever keeps the pool; who waits for it waits no longer than there is hope. */
  async #end(make: (seq: number) => Decided): Promise<PoolEnded> {
    return ((await this.#call(make, this.isAway ? 0 : BACKGROUND_MS)) ?? NOTED) as PoolEnded;
  }

  #withdraw(leaseId: string): void {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) return;
    this.#alone.end(lease, null);
    if (lease.state === 'asking') this.#calls.dropAsk(leaseId);
    this.#leases.forget(leaseId);
  }

  /** What an answer makes of a lease. */
  #take(lease: OwnLease, answer: PoolAnswer): void {
    if (lease.state === 'ends') return;
    if (answer.kind === 'dispatched') this.#leases.runs(lease, this.#now(this.#latestMs));
    else if (answer.kind === 'waiting') lease.state = 'waiting';
    else this.#leases.forget(lease.ask.leaseId);
  }

  #goAway(): void {
    this.#isBehind = true;
    this.parts.observer.poolAway(this.parts.poolId);
    this.#beats.soon(0);
  }

  /** Without a keeper. Its question may be on its way: what it comes to there is put right by a cancellation, or when the lease is told. */
  #decideAway(lease: OwnLease): PoolAnswer {
    const answer = this.#alone.decide(lease);
    this.#take(lease, answer);
    if (answer.kind === 'dispatched' || answer.kind === 'waiting') this.#alone.holds(lease);
    else this.#tellCancelled(lease.ask.leaseId);
    return answer;
  }

  #tellCancelled(leaseId: string): void {
    void this.#call((seq) => ({ kind: 'cancel', seq, leaseId, nowMs: this.#now(this.#latestMs) }), 0);
  }

  #hearShare(events: readonly OwnedEvent[]): void {
    this.#passOn(events);
    // It may wait at the keeper, too.
    for (const { event } of events) if (event.kind === 'refused') this.#tellCancelled(event.leaseId);
  }

  #passOn(events: readonly OwnedEvent[]): void {
    const nowMs = this.#now(this.#latestMs);
    const news = events.filter(({ event }) => this.#leases.heard(event, nowMs));
    if (news.length > 0) this.parts.onEvents(news);
  }

  /** Who keeps the pool now. */
  #stand(standing: Standing, askedMs: number): void {
    const { processor } = this.parts;
    this.#processors = this.#known = standing.processors;
    this.#contact.heard();
    const own = this.#keeping;
    if (standing.keeper === processor && own?.epoch === standing.epoch) {
      own.renewed(askedMs);
      if (this.#isBehind) this.#follow(standing.epoch);
    } else if (standing.keeper === processor) {
      if (standing.taken !== null) this.#begin(standing, askedMs);
      else this.#beats.soon(0);
    } else {
      this.#stopKeeping();
      const isDue = this.isAway && this.parts.clock.nowMs() - this.#followedMs >= AGAIN_MS;
      if (this.#epoch !== standing.epoch || this.#isBehind || isDue) this.#follow(standing.epoch);
    }
  }

  #begin(standing: Standing, claimedMs: number): void {
    this.#stopKeeping();
    const { epoch } = standing;
    this.parts.link.keep(true);
    this.parts.observer.keeperBegan(this.parts.poolId);
    this.#keeping = new Keeping({
      ...this.parts, epoch, standing, claimedMs,
      hear: (told) => { this.#hear(told); },
      onLost: () => {
        if (this.#keeping?.epoch === epoch) this.#stopKeeping();
        this.#beats.soon(0);
      },
    });
    this.#follow(epoch);
  }

  #stopKeeping(): void {
    if (this.#keeping === null) return;
    this.#keeping.stop();
    this.#keeping = null;
    this.#epoch = null;
    this.#isBehind = true;
    this.parts.link.keep(false);
    this.parts.observer.keeperEnded(this.parts.poolId);
  }

  /** Tells a keeper all that it is to know: the leases, then what was not answered. */
  #follow(epoch: number): void {
    if (this.#epoch !== epoch) this.#heard = 0;
    this.#epoch = epoch;
    this.#isBehind = false;
    this.#followedMs = this.parts.clock.nowMs();
    this.#line.follow(epoch);
    const leases = [...this.#leases.values()].filter(({ state, ranMs }) => state === 'waiting' || (state !== 'asking' && ranMs !== null));
    this.#register(leases, ++this.#registration);
    for (const request of this.#calls.open()) this.#post(request);
  }

  #register(leases: readonly OwnLease[], all: number | null): void {
    for (const request of registrations(leases, all, this.#now(this.#latestMs))) this.#post(request);
  }

  #hearTold({ epoch, n, list }: Batch<Told>): void {
    if (this.#epoch === null || epoch < this.#epoch || this.#closing) return;
    this.#contact.heard();
    if (epoch > this.#epoch) {
      this.#stopKeeping();
      this.#follow(epoch);
    } else if (n <= this.#heard) return;
    else if (n > this.#heard + 1 && this.#heard > 0) this.#isBehind = true;
    this.#heard = n;
    for (const told of list) this.#hear(told);
    if (this.#isBehind) this.#beats.soon(0);
  }

  #hear(told: Told): void {
    switch (told.kind) {
      case 'reply':
        return this.#hearReply(told.seq, told.reply);
      case 'event':
        return this.#passOn([told]);
      case 'registered':
        if (told.all === this.#registration) this.#comeHome();
        return;
      case 'missing':
        return this.#tellMissing(told.leaseIds);
      case 'began': // Whoever hears of a new epoch has registered.
        return;
      case 'lost':
      case 'stops':
        this.#isBehind = true;
    }
  }

  #hearReply(seq: number, reply: Reply): void {
    this.#contact.answered();
    const answered = this.#calls.answered(seq, reply);
    if (answered === undefined) return;
    const { request, isLate } = answered;
    if (request.kind === 'settle' || request.kind === 'cancel') this.#leases.forget(request.leaseId);
    if (request.kind !== 'ask') return;
    const lease = this.#leases.get(request.ask.leaseId);
    if (lease === undefined || lease.state === 'ends') return;
    // At once: an event that follows may tell more.
    if (isLate) this.#takeLate(lease, reply as PoolAnswer);
    else this.#take(lease, reply as PoolAnswer);
  }

  /** An answer for which nobody waited: the lease was decided about here meanwhile. */
  #takeLate(lease: OwnLease, answer: PoolAnswer): void {
    if (!lease.inShare) return;
    if (answer.kind === 'refused' || answer.kind === 'unavailable' || (answer.kind === 'waiting' && lease.state === 'running')) {
      this.#register([lease], null);
      return;
    }
    const nowMs = this.#now(this.#latestMs);
    this.#alone.end(lease, null);
    lease.inShare = false;
    if (answer.kind === 'waiting' || lease.state === 'running') return;
    this.#passOn([{ owner: lease.ask.owner, event: grantedLate(lease.ask, nowMs - lease.askedMs, answer.factors) }]);
  }

  /** The keeper knows all: what the share decided is its own from now on. */
  #comeHome(): void {
    const mine = [...this.#leases.values()].filter(({ inShare }) => inShare);
    this.#register(mine.filter(({ state }) => state !== 'ends'), null);
    for (const lease of mine) lease.inShare = false;
    this.#alone.stop();
    const awayMs = this.#contact.found();
    if (awayMs !== null) this.parts.observer.poolBack(this.parts.poolId, awayMs);
  }

  /** The keeper gave them up, and they live: those that wait, and those that surely run. */
  #tellMissing(leaseIds: readonly string[]): void {
    const leases = leaseIds.map((leaseId) => this.#leases.get(leaseId));
    this.#register(leases.filter((lease): lease is OwnLease => lease?.state === 'waiting' || (lease?.state === 'running' && lease.work + lease.kvBytes > 0)), null);
  }

  /** After each beat, and while one has no answer: what hangs on time alone. */
  #look(): void {
    const nowMs = this.parts.clock.nowMs();
    if (this.parts.time === 'caller') return;
    if (this.#contact.look()) this.#goAway();
    const waiters: OwnLease[] = [];
    for (const lease of [...this.#leases.values()]) {
      if (lease.state !== 'waiting' || lease.inShare) continue;
      if (nowMs - lease.askedMs >= lease.ask.maxWaitMs + OVERDUE_MS) this.#giveUp(lease, nowMs);
      else waiters.push(lease);
    }
    if (this.#contact.isAlone) this.#alone.adoptWaiters(waiters);
    // The next beat brings it home.
    else if (this.#alone.hasDecided && !this.isAway && nowMs - this.#followedMs >= AGAIN_MS) this.#isBehind = true;
  }

  #giveUp({ ask, askedMs }: OwnLease, nowMs: number): void {
    this.#passOn([{ owner: ask.owner, event: overdue(ask, nowMs - askedMs) }]);
    this.#tellCancelled(ask.leaseId);
  }

  /** How the next beat is timed; null: this processor does not use the pool, and is to leave it. One that decides alone looks on for a keeper. */
  #rest(): { readonly isKeeper: boolean; readonly isAway: boolean } | null {
    if (this.#leases.size > 0 || this.#calls.size > 0 || (this.#keeping?.leases ?? 0) > 0) this.#usedMs = this.parts.clock.nowMs();
    if (this.isAway || this.parts.clock.nowMs() - this.#usedMs < IDLE_MS) return { isKeeper: this.#keeping !== null, isAway: this.isAway || this.#isBehind };
    return null;
  }

  async #leave(): Promise<void> {
    const { link, poolId, observer } = this.parts;
    const keeping = this.#keeping;
    this.#keeping = null;
    this.#epoch = null;
    this.#isBehind = true;
    this.#known = [];
    try {
      if (keeping !== null) {
        // Whatever fails: who keeps nothing must not read, and trim, what the next keeper is asked.
        link.keep(false);
        observer.keeperEnded(poolId);
        await link.beat({ epoch: keeping.epoch, claims: false, save: keeping.save(true) });
        await link.leave({ epoch: keeping.epoch, last: await keeping.last(this.#processors) });
      } else if (this.#beats.hasBegun) await link.leave(null);
    } catch (error) {
      keeping?.stop();
      observer.poolFault(poolId, error);
    }
  }
}
