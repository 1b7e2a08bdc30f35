-- Buckets: the loader puts this before scripts of a root, after time.lua. leases.lua says how they are kept.
--
-- The arithmetic is that of quota/bucket.ts and memory-buckets.ts, to the unit; `%` is not used, since Lua's is inexact for large numbers.
-- Every table and text of a call is garbage that a later call sweeps (each 50th call, which is what its p99 is): so there are few.

local UNITS_PER_TOKEN = 60000
local MAX_DEFICIT_UNITS = 8000000000000000
local FULL_KEPT_MS = 600000
-- A mean duration of leases is kept in eighths, the latest counts as one; what was learned is void when a bucket was free for so long.
local HOLD_PARTS, LEARNED_MS = 8, 60000
local UNKNOWN_HOLD_MS, MIN_PLACE_WAIT_MS, MAX_PLACE_WAIT_MS = 1000, 100, 60000

local BUCKET = '<ddddd'
local sub = string.sub
local base = sub(KEYS[1], 1, -2)

-- What one MSET writes at the end: key, value, key, value …
local writes = {}

local function put(key, value)
  local n = #writes
  writes[n + 1], writes[n + 2] = key, value
end

-- Buckets of this call by key, each read once and written once. A new one is full.
local buckets = {}

-- Time of one that lies too far ahead becomes now, its level stays. Smaller steps back count as no time.
local function parse_bucket(packed, rate, now)
  if not packed or #packed ~= 40 then return { deficit = 0, updated = now, held = 0, was = 0, limit = rate, hold = 0, changed = false } end
  local deficit, updated, held, limit, hold = unpack_bytes(BUCKET, packed)
  local ahead = updated - now > MAX_AHEAD_MS
  return { deficit = deficit, updated = ahead and now or updated, held = held, was = held, limit = limit, hold = hold, changed = ahead }
end

-- Gives holdings the buckets that one MGET found for them, from its answer `from` on.
local function take_buckets(holdings, found, from, now)
  for i = 1, #holdings do
    local holding = holdings[i]
    local bucket = buckets[holding.key]
    if not bucket then
      bucket = parse_bucket(found[from + i], holding.rate, now)
      buckets[holding.key] = bucket
    end
    holding.bucket = bucket
  end
end

local function divide_up(a, b)
  local rest = fmod(a, b)
  return (a - rest) / b + (rest > 0 and 1 or 0)
end

local function deficit_at(bucket, rate, now)
  local deficit = bucket.deficit
  if deficit == 0 then return 0 end
  local elapsed = max(now, bucket.updated) - bucket.updated
  -- Beyond the exact integers the product is rounded, but never below a deficit that it exceeds: the same as dividing first.
  local refilled = elapsed * rate
  return refilled >= deficit and 0 or deficit - refilled
end

-- Notes the names of buckets that are held now, or no more.
local function note_held(command, keys)
  if #keys == 0 then return end
  for i = 1, #keys do keys[i] = sub(keys[i], #base + 3) end
  call(command, base .. 'h', unpack(keys))
end

-- A bucket that a lease holds stays; any other goes a while after it is full again.
local function write_buckets(now)
  local taken, left = {}, {}
  for key, bucket in pairs(buckets) do
    if bucket.changed then
      local packed = pack_bytes(BUCKET, bucket.deficit, bucket.updated, bucket.held, bucket.limit, bucket.hold)
      if bucket.held > 0 then
        put(key, packed)
      else
        local full = divide_up(bucket.deficit, bucket.limit) + max(0, bucket.updated - now)
        call('SET', key, packed, 'PX', format('%.0f', full + FULL_KEPT_MS))
      end
      if bucket.was == 0 and bucket.held > 0 then taken[#taken + 1] = key end
      if bucket.was > 0 and bucket.held == 0 then left[#left + 1] = key end
    end
  end
  if #writes > 0 then call('MSET', unpack(writes)) end
  note_held('SADD', taken)
  note_held('SREM', left)
end

local function occupy(bucket, now)
  if bucket.held == 0 and max(now, bucket.updated) - bucket.updated >= LEARNED_MS then bucket.hold = 0 end
  bucket.held = bucket.held + 1
  bucket.changed = true
end
