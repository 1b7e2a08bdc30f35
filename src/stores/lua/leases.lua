-- Buckets and leases: the loader puts this before each script of a root, after time.lua.
--
-- KEYS[1] is always the clock of a root, `…tw1:{<root>}:c`. All other keys are made from it, so that they carry the same hash
-- tag and live on the same node of a cluster:
--   c            clock of the leases: "<clock ms> <time of the last call ms>"
--   x            sorted set of running leases by the clock at which they expire
--   n            hash of the number of running leases by tenant
--   l:<lease>    record of a lease (MessagePack); ended ones stay as tombstones for a while
--   b:<bucket>   a bucket, five doubles: deficit units, updated ms, held, limit a minute, mean hold in 1/8 ms; absent = full
--   k:<tenant>   set of a tenant's bucket names, written beside the scripts
--   u:<period>   hash of totals by tenant, five doubles: requests, input, cached, output, reasoning; periods: all, a day, a month
--   e            stream of the latest events;  q  stream of events that no sink has yet
--
-- Numbers are whole and below 2^53: as text they are written with %.0f, and what is read most often as little-endian doubles, which take a
-- fifth of the time. The arithmetic is that of quota/bucket.ts and
-- memory-buckets.ts, to the unit; `%` is not used, since Lua's is inexact for large numbers.

local UNITS_PER_TOKEN = 60000
local MAX_DEFICIT_UNITS = 8000000000000000
local LEASE_MS = 10000
local MAX_CLOCK_STEP_MS = 1000
local CLOCK_KEPT_MS = 86400000
local FULL_KEPT_MS = 600000
local ENDED_KEPT_MS = 600000
local REAPED_KEPT_MS = 86400000
-- A mean duration of leases is kept in eighths, the latest counts as one; what was learned is void when a bucket was free for so long.
local HOLD_PARTS, LEARNED_MS = 8, 60000
local UNKNOWN_HOLD_MS, MIN_PLACE_WAIT_MS, MAX_PLACE_WAIT_MS = 1000, 100, 60000

local FIVE = '<ddddd'
local base = string.sub(KEYS[1], 1, -2)

-- Moves the clock of the root on, by at most a second a call: a store that stood still ends nobody's lease.
-- Where the clock was lost it starts so that no lease is expired.
local function tick(now)
  local kept, clock = call('GET', KEYS[1]), now
  if kept then
    local at, last = match(kept, '^(%-?%d+) (%-?%d+)$')
    clock = at + min(MAX_CLOCK_STEP_MS, max(0, now - last))
    -- Many calls come in one millisecond.
    if now == tonumber(last) then return clock end
  else
    local first = call('ZRANGE', base .. 'x', 0, 0, 'WITHSCORES')
    if first[2] then clock = first[2] - LEASE_MS end
  end
  call('SET', KEYS[1], format('%.0f %.0f', clock, now), 'PX', CLOCK_KEPT_MS)
  return clock
end

local function divide_up(a, b)
  local rest = math.fmod(a, b)
  return (a - rest) / b + (rest > 0 and 1 or 0)
end

-- Buckets ------------------------------------------------------------------------------------------------------------

-- Buckets of this call by name, each read once and written once; and the keys of those that were read.
local buckets, changed, key_of = {}, {}, {}

local function parse_bucket(packed)
  if #packed ~= 40 then return nil end
  local deficit, updated, held, limit, hold = struct.unpack(FIVE, packed)
  return { deficit = deficit, updated = updated, held = held, limit = limit, hold = hold }
end

-- Reads the buckets of holdings that were not read yet. Absent ones stay nil.
local function load_buckets(holdings)
  local keys, names = {}, {}
  for i = 1, #holdings do
    local name = holdings[i][1]
    if not key_of[name] then
      local key = base .. 'b:' .. name
      key_of[name] = key
      names[#names + 1] = name
      keys[#keys + 1] = key
    end
  end
  if #keys == 0 then return end
  local found = call('MGET', unpack(keys))
  for i = 1, #names do
    if found[i] then buckets[names[i]] = parse_bucket(found[i]) end
  end
end

-- The bucket of a holding, which must be loaded; a new one is full.
local function open_bucket(key, rate, now)
  local bucket = buckets[key]
  if not bucket then
    bucket = { deficit = 0, updated = now, held = 0, limit = rate, hold = 0 }
    buckets[key] = bucket
  end
  changed[key] = bucket
  return bucket
end

-- A bucket that a lease holds stays; any other goes a while after it is full again.
local function write_buckets(now)
  local held = {}
  for name, bucket in pairs(changed) do
    local packed = struct.pack(FIVE, bucket.deficit, bucket.updated, bucket.held, bucket.limit, bucket.hold)
    if bucket.held > 0 then
      held[#held + 1] = key_of[name]
      held[#held + 1] = packed
    else
      local full = divide_up(bucket.deficit, bucket.limit) + max(0, bucket.updated - now)
      call('SET', key_of[name], packed, 'PX', format('%.0f', full + FULL_KEPT_MS))
    end
  end
  if #held > 0 then call('MSET', unpack(held)) end
end

local function deficit_at(bucket, rate, now)
  if not bucket or bucket.deficit == 0 then return 0 end
  local elapsed = max(now, bucket.updated) - bucket.updated
  if elapsed >= divide_up(bucket.deficit, rate) then return 0 end
  return bucket.deficit - elapsed * rate
end

-- With `held` leases of mean duration D, places come free every D / held.
local function place_wait(bucket, capacity)
  if not bucket or bucket.held < capacity then return 0 end
  local mean = bucket.hold == 0 and UNKNOWN_HOLD_MS * HOLD_PARTS or bucket.hold
  local wait = math.ceil((mean * (bucket.held - capacity + 1)) / (bucket.held * HOLD_PARTS))
  return min(MAX_PLACE_WAIT_MS, max(MIN_PLACE_WAIT_MS, wait))
end

-- Leases -------------------------------------------------------------------------------------------------------------
-- A record: s state (r running, e ended, x reaped, c barred), a began at ms, t tenant, p what reserve answered, d draft,
-- o output last told (nil before the first renewal), h holdings, k booked event. A holding: 1 bucket, 2 dimension, 3 amount now, 4 input amount,
-- 5 cached input counts, 6 rate, 7 tenant, 8 amount reserved, 9 capacity.

local function read_lease(id)
  local packed = call('GET', base .. 'l:' .. id)
  return packed and cmsgpack.unpack(packed)
end

local function run_lease(id, lease, clock)
  call('SET', base .. 'l:' .. id, cmsgpack.pack(lease))
  call('ZADD', base .. 'x', format('%.0f', clock + LEASE_MS), id)
end

local function count_lease(lease, more)
  if call('HINCRBY', base .. 'n', lease.t, more) <= 0 then call('HDEL', base .. 'n', lease.t) end
end

-- Of a regular end only what the answers to repeated calls need is kept.
local function end_lease(id, lease)
  call('SET', base .. 'l:' .. id, cmsgpack.pack({ s = 'e', p = lease.p }), 'PX', ENDED_KEPT_MS)
  call('ZREM', base .. 'x', id)
end

local function bury_lease(id, lease)
  call('SET', base .. 'l:' .. id, cmsgpack.pack(lease), 'PX', REAPED_KEPT_MS)
  call('ZREM', base .. 'x', id)
end

local function occupy(bucket, now)
  if bucket.held == 0 and max(now, bucket.updated) - bucket.updated >= LEARNED_MS then bucket.hold = 0 end
  bucket.held = bucket.held + 1
end

-- Charges a bucket with what a holding reserves.
local function hold(holding, now)
  local bucket = open_bucket(holding[1], holding[6], now)
  occupy(bucket, now)
  bucket.deficit = deficit_at(bucket, holding[6], now)
  bucket.updated = max(now, bucket.updated)
  bucket.limit = holding[6]
  if holding[3] > 0 then bucket.deficit = min(MAX_DEFICIT_UNITS, bucket.deficit + holding[3] * UNITS_PER_TOKEN) end
end

-- Brings what a lease holds to `amount`: takes the rest, debt or not, or gives back, never beyond full.
local function adjust(holding, amount, now)
  local more = amount - holding[3]
  holding[3] = amount
  if more == 0 then return end
  local bucket = open_bucket(holding[1], holding[6], now)
  local deficit = deficit_at(bucket, bucket.limit, now)
  bucket.updated = max(now, bucket.updated)
  bucket.deficit = max(0, min(MAX_DEFICIT_UNITS, deficit + more * UNITS_PER_TOKEN))
end

local function release(holding, now)
  local bucket = open_bucket(holding[1], holding[6], now)
  bucket.held = max(0, bucket.held - 1)
  if holding[2] == 'c' then bucket.updated = max(now, bucket.updated) end
end

local function learn_hold(holding, duration, now)
  if holding[2] ~= 'c' then return end
  local bucket = open_bucket(holding[1], holding[6], now)
  local mean = bucket.hold
  bucket.hold = mean == 0 and max(1, duration) * HOLD_PARTS or mean + duration - floor(mean / HOLD_PARTS)
end

-- What a holding of `amount` has to be for so much output.
local function extended_amount(holding, amount, output)
  if holding[2] ~= 't' and holding[2] ~= 'o' then return amount end
  return max(amount, holding[4] + output)
end

-- What a holding comes to at the true figures { input, cached, output }.
local function true_amount(holding, truth)
  local input = holding[5] == 1 and truth[1] or truth[1] - truth[2]
  if holding[2] == 'r' then return holding[8] end
  if holding[2] == 'i' then return input end
  if holding[2] == 'o' then return truth[3] end
  if holding[2] == 't' then return input + truth[3] end
  return 0
end

-- Brings what a lease holds to the true figures; nil: as if it had never been.
local function bring_to(lease, truth, now)
  for _, holding in ipairs(lease.h) do adjust(holding, truth and true_amount(holding, truth) or 0, now) end
end

-- A running lease lets go of its buckets.
local function release_all(lease, now)
  count_lease(lease, -1)
  for _, holding in ipairs(lease.h) do release(holding, now) end
end
