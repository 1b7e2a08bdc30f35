-- The loader puts this before every script.

local call, format, match, floor, max, min, fmod = redis.call, string.format, string.match, math.floor, math.max, math.min, math.fmod
local pack_bytes, unpack_bytes = struct.pack, struct.unpack

-- The caller's time, or the server's where it gives none.
-- What a clock that was ahead by more wrote, and is right again, is taken as of now.
local MAX_AHEAD_MS = 60000

local function time_ms(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + floor(time[2] / 1000)
end
