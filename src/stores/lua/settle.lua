-- Ends a lease at its true figures and books its event.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 input tokens, 4 cached input tokens, 5 output tokens, 6 keep for a sink (0 1), 7 events kept,
--       8 what is known to be booked of it (JSON, or ''), then what to book: 9 event (JSON), 10 requests, 11 input, 12 cached, 13 output,
--       14 reasoning, 15 day, 16 month, 17 parent or ''
-- Returns { kind, booked }. kind: settled, corrected, already_ended, unknown; or `booked` with the event (JSON) that others booked for this
--       lease: nothing was changed then, and the caller calls again with that in 8 and the difference to it in 9 to 14.
-- Invariants: of all ends of a lease one counts; charges come to the true figures whatever was charged before.

local now, id = time_ms(ARGV[1]), ARGV[2]
tick(now)
local lease = read_lease(id)
if not lease then return { 'unknown' } end
if lease.s == 'e' or lease.s == 'c' then return { 'already_ended' } end
if (lease.k or '') ~= ARGV[8] then return { 'booked', lease.k or '' } end

load_buckets(lease.h)
bring_to(lease, { tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]) }, now)
if lease.s == 'r' then
  for _, holding in ipairs(lease.h) do learn_hold(holding, max(0, now - lease.a), now) end
  release_all(lease, now)
end
write_buckets(now)
book(lease, { unpack(ARGV, 9, 17) }, ARGV[6], ARGV[7])
end_lease(id, lease)
return { (lease.s == 'x' or lease.k) and 'corrected' or 'settled' }
