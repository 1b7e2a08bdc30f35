-- How leases end: the loader puts this before scripts that end them, after records.lua.

-- A holding lets go of its bucket.
local function release(holding, now)
  local bucket = holding.bucket
  bucket.held = max(0, bucket.held - 1)
  if holding.dimension == 'c' then bucket.updated = max(now, bucket.updated) end
  bucket.changed = true
end

-- After a regular end: how long a place stays taken.
local function learn_hold(holding, duration)
  if holding.dimension ~= 'c' then return end
  local bucket = holding.bucket
  local mean = bucket.hold
  bucket.hold = mean == 0 and max(1, duration) * HOLD_PARTS or mean + duration - floor(mean / HOLD_PARTS)
  bucket.changed = true
end

-- Brings what a lease holds to the true figures (input below 0: as if it had never been), and lets go of it if it runs. `duration`: of a
-- regular end, else nil. Returns its holdings.
local function settle_charges(lease, input, cached, output, duration, now)
  local holdings, own = parse_charges(lease.charges, lease.count, lease.tenant)
  load_buckets(holdings, now)
  local runs = lease.state == 'r'
  for i = 1, #holdings do
    local holding = holdings[i]
    local before = runs and extended_amount(holding, lease.most) or true_amount(holding, lease.input, lease.cached, lease.true_output)
    adjust(holding.bucket, true_amount(holding, input, cached, output) - before, now)
    if runs then
      if duration then learn_hold(holding, duration) end
      release(holding, now)
    end
  end
  if runs then count_lease(lease.tenant, own, -1) end
  return holdings
end

-- Opens a lease to end it: the lease, or nil. The clock moves on; as long as a lease runs `expired` sees to it that the clock goes one day.
local function open_lease(key, now)
  local found = call('MGET', KEYS[1], key)
  local _, kept = tick(found[1], now)
  local lease = parse_lease(found[2])
  if kept and lease and lease.state == 'r' then
    put(KEYS[1], kept)
  elseif kept then
    call('SET', KEYS[1], kept, 'PX', CLOCK_KEPT_MS)
  end
  return lease
end

local function end_lease(id, key, lease)
  call('SET', key, tombstone('e', lease.answer), 'PX', ENDED_KEPT_MS)
  call('ZREM', running, id)
end
