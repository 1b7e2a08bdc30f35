-- Reserves: charges all enforced buckets and begins a lease, or charges nothing and begins none.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 tenant, 4 draft (JSON), 5 force ('1': a lease that this store lost comes back, whatever it takes),
--       6 number of enforced charges, then 4 a charge: key, dimension (r t i o c), tenant, and five doubles: rate a minute,
--       capacity, amount, input amount, cached input counts (0 1)
-- Returns { kind, shortage, wait ms, exact (0 1), level, level … }. kind: 1 reserved, 0 refused, 2 barred by a cancellation that came first.
--       shortage: number of the charge that has the longest wait (of the enforced where refused, else of the shadowed), 0 if none.
--       level: the deficit in units after the call, of concurrency the places taken; in the order of the charges.
-- Invariants: the same lease again changes nothing and returns the same; a refusal writes no bucket and no lease; no bucket goes
--       below zero here (but for force); if a shadowed one is short none of the shadowed is charged.

local now, id, enforced = time_ms(ARGV[1]), ARGV[2], tonumber(ARGV[6])
local clock = tick(now)
local first = read_lease(id)
if first and first.s == 'c' then return { 2 } end
if first then return first.p end

-- As holdings: see leases.lua.
local charges = {}
for i = 7, #ARGV, 4 do
  local dimension, rate, capacity, amount, input, cached = ARGV[i + 1], struct.unpack(FIVE, ARGV[i + 3])
  if dimension == 'c' then amount = 0 end
  charges[#charges + 1] = { ARGV[i], dimension, amount, input, cached, rate, ARGV[i + 2], amount, capacity }
end
load_buckets(charges)

local function wait_of(charge)
  local bucket = buckets[charge[1]]
  if not bucket then return 0 end
  if charge[2] == 'c' then return place_wait(bucket, charge[9]) end
  local room = (charge[9] - min(charge[9], charge[8])) * UNITS_PER_TOKEN
  local deficit = deficit_at(bucket, charge[6], now)
  return deficit <= room and 0 or divide_up(deficit - room, charge[6])
end

local function longest(from, to)
  local which, wait = 0, 0
  for i = from, to do
    local needed = wait_of(charges[i])
    if needed > wait then which, wait = i, needed end
  end
  if which == 0 then return { 0, 0, 1 } end
  local bucket = buckets[charges[which][1]]
  return { which, wait, (charges[which][2] ~= 'c' and (not bucket or bucket.held == 0)) and 1 or 0 }
end

local function answer(kind, shortage)
  local told = { kind, shortage[1], shortage[2], shortage[3] }
  for i = 1, #charges do
    local charge = charges[i]
    local bucket = buckets[charge[1]]
    told[#told + 1] = charge[2] == 'c' and (bucket and bucket.held or 0) or deficit_at(bucket, charge[6], now)
  end
  return told
end

local shortage = longest(1, enforced)
if shortage[1] > 0 and ARGV[5] ~= '1' then return answer(0, shortage) end

local lease = { s = 'r', a = now, t = ARGV[3], d = ARGV[4], h = {} }
local function hold_all(from, to)
  for i = from, to do
    hold(charges[i], now)
    lease.h[i] = charges[i]
  end
end
hold_all(1, enforced)
shortage = longest(enforced + 1, #charges)
if shortage[1] == 0 then hold_all(enforced + 1, #charges) end
lease.p = answer(1, shortage)
write_buckets(now)
run_lease(id, lease, clock)
count_lease(lease, 1)
return lease.p
