-- A processor uses a pool no more.
--
-- KEYS  1 claim, 2 sorted set of processors, 3 stream to this processor
-- ARGV  1 processor, 2 epoch of its claim or ''
-- Returns 1 if it was keeper, else 0.

local _, epoch, holder = match(call('GET', KEYS[1]) or '', '^(%d+) (%d+) (.*)$')
call('ZREM', KEYS[2], ARGV[1])
call('DEL', KEYS[3])
if holder ~= ARGV[1] or epoch ~= ARGV[2] then return 0 end
return call('DEL', KEYS[1])
