-- Leases: the loader puts this before scripts of a root, after buckets.lua.
--
-- KEYS[1] is always the clock of a root, `…tw1:{<root>}:c`. All other keys are made from it, so that they carry the same hash
-- tag and live on the same node of a cluster:
--   c            clock of the leases, two doubles: clock ms, time of the last call ms; goes a day after `expired` found no lease
--   x            sorted set of running leases by the clock at which they expire
--   n            hash of the number of running leases by tenant, of those that hold no bucket of their own tenant
--   h            set of names of buckets that are held: those of which `audit` looks whether leases hold them
--   l:<lease>    record of a lease, see below; ended ones stay as tombstones for a while
--   b:<bucket>   a bucket, five doubles: deficit units, updated ms, held, limit a minute, mean hold in 1/8 ms; absent = full
--   k:<tenant>   set of a tenant's bucket names, written beside the scripts
--   u            hash of totals by tenant: a day, a month, and all time;  u:<period>  hash of totals by tenant of days and months before
--   e            stream of the latest events;  q  stream of events that no sink has yet
--
-- Numbers are whole and below 2^53: as text they are written with %.0f, and what is read most often as little-endian doubles, which take a
-- fifth of the time.

local LEASE_MS = 10000
local MAX_CLOCK_STEP_MS = 1000
local CLOCK_KEPT_MS, ENDED_KEPT_MS, REAPED_KEPT_MS = '86400000', '600000', '86400000'

local running = base .. 'x'

-- The clock of the root after this call: on by at most a second, since a store that stood still ends nobody's lease. Also how it is to be
-- kept; nil where it is kept so already, as many calls come in one millisecond. Where the clock was lost it starts so that no lease is expired.
local function tick(kept, now)
  local clock = now
  if kept and #kept == 16 then
    local at, last = unpack_bytes('<dd', kept)
    clock = at + min(MAX_CLOCK_STEP_MS, max(0, now - last))
    if now == last then return clock, nil end
  else
    local first = call('ZRANGE', running, 0, 0, 'WITHSCORES')
    if first[2] then clock = first[2] - LEASE_MS end
  end
  return clock, pack_bytes('<dd', clock, now)
end

-- A record: state (r running, e ended, x reaped, c barred), began at ms, output told last and most output told (-1 before the first renewal),
-- what was charged when it was reaped: input (-1: nothing), cached, output; number of charges that it holds; then, each after its length:
-- tenant, charges as `reserve` got them, what that answered, draft, booked event ('' for none). Of regular ends only the state and the answer are kept,
-- one after the other: there are as many of these as requests in ten minutes.
local LEASE_HEAD = '<c1dddddddIc0Ic0'
local LEASE = LEASE_HEAD .. 'Ic0Ic0Ic0'
local ENDS = { e = true, c = true }
local HOLDING = '<c1Ic0Ic0ddddd'

-- The first `count` of packed charges: dimension (r t i o c), name of the bucket, tenant, and five doubles: rate a minute, capacity, amount
-- (0 of concurrency), input amount, cached input counts (0 1). `own`: whether one is of `tenant`.
local function parse_charges(packed, count, tenant)
  local holdings, at, own = {}, 1, false
  for i = 1, count do
    local dimension, name, of, rate, capacity, amount, input, cached, next = unpack_bytes(HOLDING, packed, at)
    holdings[i] = { dimension = dimension, key = base .. 'b:' .. name, tenant = of, rate = rate, capacity = capacity, amount = amount, input = input, cached = cached }
    at, own = next, own or of == tenant
  end
  return holdings, own
end

-- The own bucket of a tenant tells by itself that leases run; the rest is counted.
local function count_lease(tenant, own, more)
  if own then return end
  if call('HINCRBY', base .. 'n', tenant, more) <= 0 then call('HDEL', base .. 'n', tenant) end
end
