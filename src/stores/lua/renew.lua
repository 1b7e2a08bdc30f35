-- Renews leases of one root, and extends them by what they put out beyond their reservation.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', then 2 a lease: lease, output tokens so far (below 0: held, not dispatched yet)
-- Returns the leases that are not known here, for the caller to bring back (reserve with force).
-- Invariants: ended leases stay ended; one that was reaped runs again and may overdraw; a charge never becomes less.

local now, keys = time_ms(ARGV[1]), { KEYS[1] }
for i = 2, #ARGV, 2 do keys[#keys + 1] = base .. 'l:' .. ARGV[i] end
local found = call('MGET', unpack(keys))
local clock, kept = tick(found[1], now)
if kept then put(KEYS[1], kept) end
local expires = format('%.0f', clock + LEASE_MS)
-- Where the outputs are in a record.
local OUTPUTS_AT = 9
local unknown, renewed, seen = {}, {}, {}

-- A reaped lease holds its reservation again, and what exceeds it. What was booked of it stays until it ends.
local function reopen(key, lease, output)
  local holdings, own = parse_charges(lease.charges, lease.count, lease.tenant)
  load_buckets(holdings, now)
  for i = 1, #holdings do
    local holding = holdings[i]
    occupy(holding.bucket, now)
    local before = true_amount(holding, lease.input, lease.cached, lease.true_output)
    adjust(holding.bucket, extended_amount(holding, output) - before, now)
  end
  count_lease(lease.tenant, own, 1)
  lease.state, lease.output, lease.most = 'r', output, output
  call('SET', key, pack_lease(lease))
end

-- Only a lease that put out more than ever before may need more.
local function extend(key, packed, most, output)
  if output > most then
    local _, _, _, _, _, _, _, count, tenant, charges = unpack_bytes(LEASE_HEAD, packed)
    local holdings, grown = parse_charges(charges, count, tenant), {}
    for i = 1, #holdings do
      local holding = holdings[i]
      holding.more = extended_amount(holding, output) - extended_amount(holding, most)
      if holding.more > 0 then grown[#grown + 1] = holding end
    end
    load_buckets(grown, now)
    for i = 1, #grown do adjust(grown[i].bucket, grown[i].more, now) end
  end
  call('SETRANGE', key, OUTPUTS_AT, pack_bytes('<dd', output, max(most, output)))
end

for i = 2, #ARGV, 2 do
  local id, output, key, packed = ARGV[i], tonumber(ARGV[i + 1]), keys[i / 2 + 1], found[i / 2 + 1]
  -- One that is named twice has changed since it was read.
  if seen[id] then packed = call('GET', key) end
  seen[id] = true
  if not packed then
    unknown[#unknown + 1] = id
  elseif not ENDS[sub(packed, 1, 1)] then
    local state, _, _, most = unpack_bytes('<c1ddd', packed)
    -- One that is held was not dispatched: it only lives on.
    if state == 'r' and output >= 0 then extend(key, packed, most, output) end
    if state == 'x' then reopen(key, parse_lease(packed), output) end
    if state == 'r' or state == 'x' then renewed[#renewed + 1], renewed[#renewed + 2] = expires, id end
  end
end
write_buckets(now)
if #renewed > 0 then call('ZADD', running, unpack(renewed)) end
return unknown
