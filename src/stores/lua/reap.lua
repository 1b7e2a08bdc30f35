-- Ends expired leases for processors that renew them no more.
--
-- KEYS  1 clock of the root
-- ARGV  1 time ms or '', 2 how many wait for a sink at most (0: no sink), 3 events kept, then 8 a lease: lease, output tokens that `expired` told (or '' where it was
--       never renewed: everything goes back then, and the rest is ''), event of all that it comes to (JSON); then what to book: event (JSON),
--       day, month, parent or '', eight doubles as `settle` takes them
-- Returns { how many were ended, events lost }.
-- Invariants: a lease that was renewed or ended since `expired` told of it is left alone; the tombstone holds what was charged, so that its
--       processor, should it come back, charges only the difference.

local now = time_ms(ARGV[1])
local clock, kept = tick(call('GET', KEYS[1]), now)
if kept then put(KEYS[1], kept) end
local ended = 0

local function is_dead(id, lease, output)
  local expires = call('ZSCORE', running, id)
  return expires and tonumber(expires) <= clock and lease and lease.state == 'r' and lease.output == output
end

local function reap(lease, whole, event, day, month, parent, numbers)
  if not numbers or numbers == '' then
    settle_charges(lease, -1, 0, 0, nil, now)
    lease.input = -1
    return
  end
  local input, cached, output, requests, in_, cached_, out_, reasoning = unpack_bytes('<dddddddd', numbers)
  local holdings = settle_charges(lease, input, cached, output, nil, now)
  book(lease, holdings, event, { requests, in_, cached_, out_, reasoning }, day, month, parent, ARGV[2], ARGV[3])
  lease.input, lease.cached, lease.true_output, lease.booked = input, cached, output, whole
end

for i = 4, #ARGV, 8 do
  local id, output = ARGV[i], tonumber(ARGV[i + 1]) or -1
  local key = base .. 'l:' .. id
  local lease = parse_lease(call('GET', key))
  if is_dead(id, lease, output) then
    reap(lease, unpack(ARGV, i + 2, i + 7))
    lease.state = 'x'
    call('SET', key, pack_lease(lease), 'PX', REAPED_KEPT_MS)
    call('ZREM', running, id)
    ended = ended + 1
  end
end
write_buckets(now)
return { ended, lost }
