-- Ends expired leases for processors that renew them no more.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 keep for a sink (0 1), 3 events kept, then 15 a lease: lease, output tokens that `expired` told (or '' where it was
--       never renewed: everything goes back then, and the rest is ''), event of all that it comes to (JSON), its input, cached, output;
--       then what to book: event (JSON), requests, input, cached, output, reasoning, day, month, parent or ''
-- Returns how many were ended.
-- Invariants: a lease that was renewed or ended since `expired` told of it is left alone; the tombstone holds what was charged, so that its
--       processor, should it come back, charges only the difference.

local now = time_ms(ARGV[1])
local clock = tick(now)
local ended = 0

local function is_dead(id, lease, output)
  local expires = call('ZSCORE', base .. 'x', id)
  return expires and tonumber(expires) <= clock and lease and lease.s == 'r' and lease.o == output
end

for i = 4, #ARGV, 15 do
  local id, output = ARGV[i], tonumber(ARGV[i + 1])
  local lease = read_lease(id)
  if is_dead(id, lease, output) then
    load_buckets(lease.h)
    bring_to(lease, output and { tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]) }, now)
    release_all(lease, now)
    if output then
      book(lease, { unpack(ARGV, i + 6, i + 14) }, ARGV[2], ARGV[3])
      lease.k = ARGV[i + 2]
    end
    lease.s = 'x'
    bury_lease(id, lease)
    ended = ended + 1
  end
end
write_buckets(now)
return ended
