-- Takes events out that a sink has. The last one takes the stream along: clients make up any number of roots.
--
-- KEYS  1 stream of events that no sink has yet
-- ARGV  ids
-- Returns how many were taken out.

local gone = redis.call('XDEL', KEYS[1], unpack(ARGV))
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return gone
