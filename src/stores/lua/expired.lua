-- Moves the clock of a root on and tells its expired leases. Changes nothing else: `reap` ends them, once their events are made.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 how many at most
-- Returns { time ms, leases that run, how many were lost (of which there is no record, or 1 if none runs and buckets are held), then 5 a lease: lease, renewed (0 1), output tokens, draft (JSON), booked event (JSON) or '' }.
-- Invariants: the clock of a root without leases goes after a while; no lease expires later than a lease time from now, by much: where the clock
--       was lost, and is behind what leases were given by it, they are pulled back.

local now = time_ms(ARGV[1])
local before = call('GET', KEYS[1])
local clock, kept = tick(before, now)
local count = call('ZCARD', running)
if count == 0 then
  call('SET', KEYS[1], kept or before, 'PX', CLOCK_KEPT_MS)
elseif kept then
  call('SET', KEYS[1], kept)
end

for _, id in ipairs(call('ZRANGEBYSCORE', running, format('(%.0f', clock + LEASE_MS + MAX_AHEAD_MS), '+inf', 'LIMIT', 0, 1000)) do
  call('ZADD', running, format('%.0f', clock + LEASE_MS), id)
end

local told = { now, count, count == 0 and call('EXISTS', base .. 'h', base .. 'n') or 0 }
for _, id in ipairs(call('ZRANGEBYSCORE', running, '-inf', format('%.0f', clock), 'LIMIT', 0, ARGV[2])) do
  local lease = parse_lease(call('GET', base .. 'l:' .. id))
  if lease and lease.state == 'r' then
    for _, value in ipairs({ id, lease.output < 0 and 0 or 1, max(0, lease.output), lease.draft, lease.booked }) do told[#told + 1] = value end
  else
    call('ZREM', running, id)
    told[3] = told[3] + 1
  end
end
return told
