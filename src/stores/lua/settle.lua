-- Ends a lease at its true figures and books its event.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 lease, 3 how many wait for a sink at most (0: no sink), 4 events kept, 5 what is known to be booked of it (JSON, or ''), then what to book:
--       6 event (JSON), 7 day, 8 month, 9 parent or '', 10 eight doubles: true input, cached, output; requests, input, cached, output,
--       reasoning to book
-- Returns { kind, booked, events lost }. kind: settled, corrected, already_ended, unknown; or `booked` with the event (JSON) that others booked for this
--       lease: nothing was changed then, and the caller calls again with that in 5 and the difference to it in 6 and 10.
-- Invariants: of all ends of a lease one counts; charges come to the true figures whatever was charged before.

local now, id = time_ms(ARGV[1]), ARGV[2]
local key = base .. 'l:' .. id
local lease = open_lease(key, now)
local state = lease and lease.state
local kind = not lease and 'unknown' or (state == 'e' or state == 'c') and 'already_ended' or lease.booked ~= ARGV[5] and 'booked'
if kind then
  write_buckets(now)
  return { kind, lease and lease.booked }
end

local input, cached, output, requests, in_, cached_, out_, reasoning = unpack_bytes('<dddddddd', ARGV[10])
local holdings = settle_charges(lease, input, cached, output, max(0, now - lease.began), now)
write_buckets(now)
book(lease, holdings, ARGV[6], { requests, in_, cached_, out_, reasoning }, ARGV[7], ARGV[8], ARGV[9], ARGV[3], ARGV[4])
end_lease(id, key, lease)
return { (state == 'x' or lease.booked ~= '') and 'corrected' or 'settled', '', lost }
