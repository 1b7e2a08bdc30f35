-- Tells that a processor lives.
--
-- KEYS  1 sorted set of processors by the time at which they told so last
-- ARGV  1 time ms or '', 2 processor, 3 ms after which one counts as gone
-- Returns how many told so within that time, this one included.

local now = time_ms(ARGV[1])
come_back(KEYS[1], now)
call('ZADD', KEYS[1], format('%.0f', now), ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', format('%.0f', now - ARGV[3]))
return call('ZCARD', KEYS[1])
