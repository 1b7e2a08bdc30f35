import type { EndReason } from '../domain/pool.js';
import type { LimitRefusal } from '../domain/refusal.js';
import type { StreamEnding } from '../domain/wire.js';
import type { Admitted } from './deciding.js';

/** Told to a client whose request was ended before its answer began: the pool is full of those that come first, for how long nobody knows. */
const RETRY_AFTER_MS = 1_000;

/** What is told in the last event of a stream that its pool ends. */
export function endingOf(admitted: Admitted, why: EndReason, requestId: string): StreamEnding {
  return { requestId, why, message: `The answer was ended before it was whole: ${becauseOf(admitted, why)}.` };
}

/** The refusal of a request that was dispatched already, and whose answer has not begun. Nothing is charged for it. */
export function endedRefusal({ share }: Admitted, why: EndReason, requestId: string): LimitRefusal {
  const slots = share?.place.pool.settings.capacity.slots ?? 0;
  const amounts = { limitValue: slots, used: slots, needed: share?.demand.slots ?? 1 };
  return {
    kind: 'limited', limit: 'pool_busy', scope: { kind: 'pool', id: poolOf(share) }, ...amounts, retryAfterMs: RETRY_AFTER_MS, exact: false, requestId,
    message: `The request was ended before its answer began: ${becauseOf({ share }, why)}; retry later.`,
  };
}

function becauseOf({ share }: Pick<Admitted, 'share'>, why: EndReason): string {
  const pool = `pool ${poolOf(share)}`;
  return why === 'reclaimed' ? `${pool} needed the room that it had borrowed` : `the memory of ${pool} is full`;
}

function poolOf(share: Admitted['share']): string {
  return share?.place.pool.settings.id ?? 'none';
}
