-- Reserves: charges all enforced buckets and begins a lease, or charges nothing and begins none.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 tenant, 4 draft (JSON), 5 force ('1': a lease that this store lost comes back, whatever it takes),
--       6 number of charges, 7 number of the enforced, which come first, 8 charges, packed as leases.lua says
-- Returns doubles: kind, shortage, wait ms, exact (0 1), level, level … kind: 1 reserved, 0 refused, 2 barred by a cancellation that came
--       first. shortage: number of the charge that has the longest wait (of the enforced where refused, else of the shadowed), 0 if none.
--       level: the deficit in units after the call, of concurrency the places taken; in the order of the charges.
-- Invariants: the same lease again changes nothing and returns the same; a refusal changes no level and begins no lease; no bucket goes
--       below zero here (but for force); if a shadowed one is short none of the shadowed is charged.

local now, id, tenant, count, enforced = time_ms(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[6]), tonumber(ARGV[7])
local charges, own = parse_charges(ARGV[8], count, tenant)
local lease_key = base .. 'l:' .. id
local keys = { KEYS[1], lease_key }
for i = 1, count do keys[i + 2] = charges[i].key end
local found = call('MGET', unpack(keys))

local clock, kept = tick(found[1], now)
if kept then put(KEYS[1], kept) end
if found[2] then
  local state = sub(found[2], 1, 1)
  write_buckets(now)
  if state == 'c' then return pack_bytes('<d', 2) end
  if state == 'e' then return sub(found[2], 2) end
  local _, _, _, _, _, _, _, _, _, _, first = unpack_bytes(LEASE, found[2])
  return first
end
take_buckets(charges, found, 2, now)

-- With `held` leases of mean duration D, places come free every D / held.
local function place_wait(bucket, capacity)
  if bucket.held < capacity or bucket.held == 0 then return 0 end
  local mean = bucket.hold == 0 and UNKNOWN_HOLD_MS * HOLD_PARTS or bucket.hold
  local wait = math.ceil((mean * (bucket.held - capacity + 1)) / (bucket.held * HOLD_PARTS))
  return min(MAX_PLACE_WAIT_MS, max(MIN_PLACE_WAIT_MS, wait))
end

local function wait_of(charge)
  if charge.dimension == 'c' then return place_wait(charge.bucket, charge.capacity) end
  local room = (charge.capacity - min(charge.capacity, charge.amount)) * UNITS_PER_TOKEN
  local deficit = deficit_at(charge.bucket, charge.rate, now)
  return deficit <= room and 0 or divide_up(deficit - room, charge.rate)
end

-- The number of the charge that has the longest wait, and that; 0 if all fit.
local function longest(from, to)
  local which, wait = 0, 0
  for i = from, to do
    local needed = wait_of(charges[i])
    if needed > wait then which, wait = i, needed end
  end
  return which, wait
end

local function hold(charge)
  local bucket = charge.bucket
  occupy(bucket, now)
  bucket.deficit = deficit_at(bucket, charge.rate, now)
  bucket.updated = max(now, bucket.updated)
  bucket.limit = charge.rate
  if charge.amount > 0 then bucket.deficit = min(MAX_DEFICIT_UNITS, bucket.deficit + charge.amount * UNITS_PER_TOKEN) end
end

-- `exact`: nobody gives back or takes more in the meantime.
local function answer(kind, which, wait, exact)
  local told = { kind, which, wait, exact }
  for i = 1, count do
    local charge = charges[i]
    told[i + 4] = charge.dimension == 'c' and charge.bucket.held or deficit_at(charge.bucket, charge.rate, now)
  end
  return pack_bytes('<' .. string.rep('d', count + 4), unpack(told))
end

local function is_exact(which)
  return (which == 0 or charges[which].dimension ~= 'c' and charges[which].bucket.held == 0) and 1 or 0
end

local short, wait = longest(1, enforced)
if short > 0 and ARGV[5] ~= '1' then
  write_buckets(now)
  return answer(0, short, wait, is_exact(short))
end
for i = 1, enforced do hold(charges[i]) end
short, wait = longest(enforced + 1, count)
local exact, held = is_exact(short), count
if short == 0 then
  for i = enforced + 1, count do hold(charges[i]) end
else
  held, own = enforced, false
  for i = 1, enforced do own = own or charges[i].tenant == tenant end
end

local told = answer(1, short, wait, exact)
put(lease_key, pack_bytes(LEASE, 'r', now, -1, -1, -1, 0, 0, held, #tenant, tenant, #ARGV[8], ARGV[8], #told, told, #ARGV[4], ARGV[4], 0, ''))
write_buckets(now)
call('ZADD', running, format('%.0f', clock + LEASE_MS), id)
count_lease(tenant, own, 1)
return told
