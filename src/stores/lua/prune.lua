-- Takes roots that were found empty out of a set, unless they were used lately: who uses one notes it again only now and then.
--
-- KEYS  1 sorted set of roots by when they were used last
-- ARGV  1 time ms or '', 2 ms that count as lately, then the roots
-- Returns how many were taken out.

local before, gone = time_ms(ARGV[1]) - ARGV[2], 0
for i = 3, #ARGV do
  local used = call('ZSCORE', KEYS[1], ARGV[i])
  if used and tonumber(used) <= before then gone = gone + call('ZREM', KEYS[1], ARGV[i]) end
end
return gone
