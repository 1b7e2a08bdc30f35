-- Ends a lease as if it had never been: everything back, the request too.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 bar ('1': the answer to its reservation never came, which may still arrive after this; then it finds the
--       lease ended), 4 how many wait for a sink at most (0: no sink), 5 events kept, 6 what is known to be booked of it (JSON, or ''), then what takes that back:
--       7 event (JSON), 8 day, 9 month, 10 parent or '', 11 five doubles: requests, input, cached, output, reasoning (nothing where 6 is '')
-- Returns { kind, booked, events lost } as `settle` does.
-- Invariants: of all ends of a lease one counts; a lease that others settled for dead, with nothing booked, has everything back already.

local now, id = time_ms(ARGV[1]), ARGV[2]
local key = base .. 'l:' .. id
local lease = open_lease(key, now)
if not lease then
  if ARGV[3] == '1' then call('SET', key, tombstone('c', ''), 'PX', ENDED_KEPT_MS) end
  return { 'unknown' }
end
local state, booked = lease.state, lease.booked
local kind = (state == 'e' or state == 'c' or state == 'x' and booked == '') and 'already_ended' or booked ~= ARGV[6] and 'booked'
if kind then
  write_buckets(now)
  return { kind, booked }
end

local holdings = settle_charges(lease, -1, 0, 0, nil, now)
write_buckets(now)
if booked ~= '' then book(lease, holdings, ARGV[7], { unpack_bytes(FIGURES, ARGV[11]) }, ARGV[8], ARGV[9], ARGV[10], ARGV[4], ARGV[5]) end
end_lease(id, key, lease)
return { booked ~= '' and 'corrected' or 'settled', '', lost }
