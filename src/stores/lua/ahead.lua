-- The loader puts this before scripts that keep sorted sets of times, after time.lua.

-- Takes members of a sorted set of times that lie too far ahead as of now; some in one call.
local function come_back(key, now)
  for _, member in ipairs(call('ZRANGEBYSCORE', key, format('(%.0f', now + MAX_AHEAD_MS), '+inf', 'LIMIT', 0, 1000)) do
    call('ZADD', key, format('%.0f', now), member)
  end
end
