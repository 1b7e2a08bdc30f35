-- A processor uses a pool: it lives, and keeps its claim to decide for all, or claims what nobody holds.
--
-- KEYS  1 claim "<until ms> <epoch> <processor>", 2 sorted set of processors by when they told last, 3 what the keeper saved,
--       4 stream to the keeper, 5 stream to this processor
-- ARGV  1 time ms or '', 2 processor, 3 epoch of its claim or '', 4 '1' if it wants one, 5 ms that a claim holds, 6 what to save or '',
--       7 ms after which a processor counts as gone, 8 ms after which keys that nobody uses expire, 9 and 10 ids up to which the streams were read or ''
-- Returns keeper ('' none), epoch, ms that its claim still holds, and of a new claim '1', what was saved, and the last id of the stream to the
-- keeper (else '', '', ''), then the processors that live.
--
-- A claim is soft state: a server that stood still, or lost it, costs a registration with a new keeper and nothing else. So its own time is enough.
-- Invariant: a claim ends within its time from now, also where a clock that was ahead wrote it. A new one is written last: what fails before leaves none behind.

local me, keep = ARGV[2], ARGV[8]
local now = time_ms(ARGV[1])
local till, epoch, holder = match(call('GET', KEYS[1]) or '', '^(%d+) (%d+) (.*)$')
till, epoch, holder = tonumber(till or 0), tonumber(epoch or 0), holder or ''
local taken, saved, last = '', '', ''
local longest = now + ARGV[5]
if till > longest then
  till = longest
  call('SET', KEYS[1], format('%.0f %.0f %s', till, epoch, holder), 'PX', keep)
end
local renewed = holder == me and format('%.0f', epoch) == ARGV[3]

if not renewed and ARGV[4] == '1' and (holder == '' or holder == me or now >= till) then
  if holder ~= me then call('ZREM', KEYS[2], holder) end
  -- Greater than all before it, also where they were lost.
  epoch, holder, taken = max(epoch + 1, now), me, '1'
  saved = call('GET', KEYS[3]) or ''
  local entries = call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
  last = entries[1] and entries[1][1] or '0'
end

come_back(KEYS[2], now)
call('ZADD', KEYS[2], format('%.0f', now), me)
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', format('%.0f', now - ARGV[7]))
if ARGV[9] ~= '' then call('XTRIM', KEYS[4], 'MINID', '~', ARGV[9]) end
if ARGV[10] ~= '' then call('XTRIM', KEYS[5], 'MINID', '~', ARGV[10]) end
for i = 2, 5 do call('PEXPIRE', KEYS[i], keep) end
if renewed and ARGV[6] ~= '' then call('SET', KEYS[3], ARGV[6], 'PX', keep) end
if renewed or taken == '1' then
  till = now + ARGV[5]
  call('SET', KEYS[1], format('%.0f %.0f %s', till, epoch, me), 'PX', keep)
end

local reply = { holder, format('%.0f', epoch), format('%.0f', max(0, till - now)), taken, saved, last }
for _, processor in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do reply[#reply + 1] = processor end
return reply
