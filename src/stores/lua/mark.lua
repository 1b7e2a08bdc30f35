-- Notes that roots are in use.
--
-- KEYS  1 sorted set of roots by when they were used last
-- ARGV  1 time ms or '', then the roots
-- Returns how many are new.

local now, new = format('%.0f', time_ms(ARGV[1])), 0
for i = 2, #ARGV do new = new + call('ZADD', KEYS[1], now, ARGV[i]) end
return new
