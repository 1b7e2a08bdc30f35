/** So many questions in a row without an answer in time, and nobody waits for one any longer. */
export const FAILURES = 3;
/** No sign of life of the server or a keeper for so long, and nobody waits for one either: a claim that nobody renewed has ended. */
export const SILENT_MS = 2_000;
/** Between two looks passes no more than this, unless the process stood still. */
export const STILL_MS = 1_100;
/** What no request waits for is waited for so long, in milliseconds. */
export const BACKGROUND_MS = 2_000;
/** After so long without a keeper, who waits may be served from the share: no keeper can have dispatched it meanwhile. */
export const SHARE_WAITERS_MS = 2_500;
/** A waiter that nobody told its end so long after its deadline is told here. */
export const OVERDUE_MS = 1_500;
/** A pool that this processor does not use for so long is left, in milliseconds. */
export const IDLE_MS = 30_000;
/** Who hears no keeper tells its leases again after so long. */
export const AGAIN_MS = 1_000;
export const MAX_CALLS = 20_000;
