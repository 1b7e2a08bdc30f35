-- Moves the clock of a root on and tells its expired leases. Changes nothing else: `reap` ends them, once their events are made.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 how many at most
-- Returns { time ms, leases that run, then 5 a lease: lease, renewed (0 1), output tokens, draft (JSON), booked event (JSON) or '' }.

local now = time_ms(ARGV[1])
local clock = tick(now)
local told = { now, call('ZCARD', base .. 'x') }
for _, id in ipairs(call('ZRANGEBYSCORE', base .. 'x', '-inf', format('%.0f', clock), 'LIMIT', 0, ARGV[2])) do
  local lease = read_lease(id)
  if lease and lease.s == 'r' then
    for _, value in ipairs({ id, lease.o and 1 or 0, lease.o or 0, lease.d, lease.k or '' }) do told[#told + 1] = value end
  else
    call('ZREM', base .. 'x', id)
  end
end
return told
