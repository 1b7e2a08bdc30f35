-- Takes roots that were found empty out of a set, unless they were used lately: who uses one notes it again only now and then.
--
-- KEYS  1 sorted set of roots by when they were used last
-- ARGV  1 time ms or '', 2 ms that count as lately, then the roots
-- Returns how many were taken out.
-- Invariant: no root counts as used later than now, by much, once this was called: a clock that was wrong keeps none in the set.

local now = time_ms(ARGV[1])
local before, gone = now - ARGV[2], 0
come_back(KEYS[1], now)
for i = 3, #ARGV do
  local used = call('ZSCORE', KEYS[1], ARGV[i])
  if used and tonumber(used) <= before then gone = gone + call('ZREM', KEYS[1], ARGV[i]) end
end
return gone
