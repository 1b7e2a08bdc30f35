-- Keeps what was learned: of two states of one key the one of more observations; those saved longest ago give way.
--
-- KEYS  1 hash: key to "<observations> <length> <state>", 2 sorted set of keys by when they were saved, 3 "<last number> <length of all>"
-- ARGV  1 keys at most, 2 length of all at most, then 4 a state: key, observations, length (of key and state), state
-- Returns how many were kept.
-- Invariants: the number and the length of all stay within their bounds.

local kept, last, total = 0, string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (%d+)$')
last, total = tonumber(last or 0), tonumber(total or 0)

-- Of a text that this script did not write: -1 and 0.
local function read(text)
  local observations, length = string.match(text or '', '^(%d+) (%d+) ')
  return tonumber(observations or -1), tonumber(length or 0)
end

local function forget(key)
  local text = redis.call('HGET', KEYS[1], key)
  if not text then return end
  local _, length = read(text)
  total = math.max(0, total - length)
  redis.call('HDEL', KEYS[1], key)
  redis.call('ZREM', KEYS[2], key)
end

for i = 3, #ARGV, 4 do
  local key, observations, length, state = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local known = read(redis.call('HGET', KEYS[1], key))
  if known <= tonumber(observations) then
    forget(key)
    last, total, kept = last + 1, total + length, kept + 1
    redis.call('HSET', KEYS[1], key, observations .. ' ' .. length .. ' ' .. state)
    redis.call('ZADD', KEYS[2], last, key)
  end
end
while redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[1]) or total > tonumber(ARGV[2]) do
  local eldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not eldest then break end
  forget(eldest)
  redis.call('ZREM', KEYS[2], eldest)
end
redis.call('SET', KEYS[3], string.format('%.0f %.0f', last, total))
return kept
