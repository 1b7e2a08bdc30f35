-- Ends a lease as if it had never been: everything back, the request too.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 bar ('1': the answer to its reservation never came, which may still arrive after this; then it finds the
--       lease ended), 4 keep for a sink (0 1), 5 events kept, 6 what is known to be booked of it (JSON, or ''), then what takes that back:
--       7 event (JSON), 8 requests, 9 input, 10 cached, 11 output, 12 reasoning, 13 day, 14 month, 15 parent or '' (nothing where 6 is '')
-- Returns { kind, booked } as `settle` does.
-- Invariants: of all ends of a lease one counts; a lease that others settled for dead, with nothing booked, has everything back already.

local now, id = time_ms(ARGV[1]), ARGV[2]
tick(now)
local lease = read_lease(id)
if not lease then
  if ARGV[3] == '1' then call('SET', base .. 'l:' .. id, cmsgpack.pack({ s = 'c' }), 'PX', ENDED_KEPT_MS) end
  return { 'unknown' }
end
if lease.s == 'e' or lease.s == 'c' or (lease.s == 'x' and not lease.k) then return { 'already_ended' } end
if (lease.k or '') ~= ARGV[6] then return { 'booked', lease.k or '' } end

load_buckets(lease.h)
bring_to(lease, nil, now)
if lease.s == 'r' then release_all(lease, now) end
write_buckets(now)
if lease.k then book(lease, { unpack(ARGV, 7, 15) }, ARGV[4], ARGV[5]) end
end_lease(id, lease)
return { lease.k and 'corrected' or 'settled' }
