-- Renews leases of one root, and extends them by what they put out beyond their reservation.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', then 2 a lease: lease, output tokens so far (below 0: held, not dispatched yet)
-- Returns the leases that are not known here, for the caller to bring back (reserve with force).
-- Invariants: ended leases stay ended; one that was reaped runs again and may overdraw; a charge never becomes less.

local now = time_ms(ARGV[1])
local clock = tick(now)
local unknown = {}

-- A reaped lease holds its reservation again, and what exceeds it. What was booked of it stays until it ends.
local function reopen(lease, output)
  for _, holding in ipairs(lease.h) do
    occupy(open_bucket(holding[1], holding[6], now), now)
    adjust(holding, extended_amount(holding, holding[8], output), now)
  end
  count_lease(lease, 1)
  lease.s = 'r'
end

local function extend(lease, output)
  for _, holding in ipairs(lease.h) do adjust(holding, extended_amount(holding, holding[3], output), now) end
end

for i = 2, #ARGV, 2 do
  local id, output = ARGV[i], tonumber(ARGV[i + 1])
  local lease = read_lease(id)
  if not lease then
    unknown[#unknown + 1] = id
  elseif lease.s == 'r' or lease.s == 'x' then
    load_buckets(lease.h)
    if lease.s == 'x' then reopen(lease, output) else extend(lease, output) end
    if output >= 0 then lease.o = output end
    run_lease(id, lease, clock)
  end
end
write_buckets(now)
return unknown
