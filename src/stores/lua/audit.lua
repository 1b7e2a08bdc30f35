-- Counts what leases hold, and puts right what is kept of it: a lease whose record was lost (evicted) never ends, and what it held would be held
-- for ever; and of buckets that were lost the places are counted anew.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 leases that are counted at most
-- Returns how many counts were wrong; -1 if there are too many leases: nothing was looked at.
-- Invariant: changes nothing where nothing was lost.

local now = time_ms(ARGV[1])
local AT_ONCE = 500
-- The rest with the next audit.
local MENDED_AT_ONCE = 1000
-- What leases hold, by key of the bucket, with the rate it was asked with; leases of tenants that hold no bucket of their own.
local counts, rates, own_less = {}, {}, {}
local wrong = 0

local function count_holdings(packed)
  if sub(packed, 1, 1) ~= 'r' then return end
  local _, _, _, _, _, _, _, count, tenant, charges = unpack_bytes(LEASE_HEAD, packed)
  local at, own = 1, false
  for _ = 1, count do
    local _, name, of, rate, _, _, _, _, next = unpack_bytes(HOLDING, charges, at)
    local key = base .. 'b:' .. name
    counts[key], rates[key] = (counts[key] or 0) + 1, rate
    at, own = next, own or of == tenant
  end
  if not own then own_less[tenant] = (own_less[tenant] or 0) + 1 end
end

-- Those that are not running leases any more are lost, or ended while they were.
local function count_leases(ids)
  for from = 1, #ids, AT_ONCE do
    local keys = {}
    for i = from, min(#ids, from + AT_ONCE - 1) do keys[#keys + 1] = base .. 'l:' .. ids[i] end
    for i, packed in ipairs(call('MGET', unpack(keys))) do
      if packed then count_holdings(packed) else call('ZREM', running, ids[from + i - 1]) end
    end
  end
end

-- Names follow, also where those were lost.
local function mend_buckets()
  local named = {}
  for _, name in ipairs(call('SMEMBERS', base .. 'h')) do
    local key = base .. 'b:' .. name
    named[key], counts[key] = true, counts[key] or 0
  end
  for key, count in pairs(counts) do
    local bucket = parse_bucket(call('GET', key), rates[key] or 1, now)
    if bucket.held ~= count and wrong < MENDED_AT_ONCE then
      bucket.held, bucket.changed, wrong = count, true, wrong + 1
      buckets[key] = bucket
    end
    bucket.was = bucket.held
    if (count > 0) ~= (named[key] or false) then note_held(count > 0 and 'SADD' or 'SREM', { key }) end
  end
end

local function mend_tenants()
  local kept = call('HGETALL', base .. 'n')
  for i = 1, #kept, 2 do own_less[kept[i]] = own_less[kept[i]] or 0 end
  for tenant, count in pairs(own_less) do
    if tonumber(call('HGET', base .. 'n', tenant) or 0) ~= count then
      wrong = wrong + 1
      if count > 0 then call('HSET', base .. 'n', tenant, count) else call('HDEL', base .. 'n', tenant) end
    end
  end
end

local ids = call('ZRANGE', running, 0, tonumber(ARGV[2]))
if #ids > tonumber(ARGV[2]) then return -1 end
count_leases(ids)
mend_buckets()
mend_tenants()
write_buckets(now)
return wrong
