-- Leases that began before: the loader puts this before scripts of such, after leases.lua. (`reserve` goes without: each function that a script
-- brings along is made anew at each call.)

local function parse_lease(packed)
  if not packed then return nil end
  local ended = sub(packed, 1, 1)
  if ENDS[ended] then return { state = ended, answer = sub(packed, 2), booked = '' } end
  local state, began, output, most, input, cached, true_output, count, tenant, charges, answer, draft, booked = unpack_bytes(LEASE, packed)
  return {
    state = state, began = began, output = output, most = most, input = input, cached = cached, true_output = true_output,
    count = count, tenant = tenant, charges = charges, answer = answer, draft = draft, booked = booked,
  }
end

local function pack_lease(l)
  return pack_bytes(LEASE, l.state, l.began, l.output, l.most, l.input, l.cached, l.true_output, l.count,
    #l.tenant, l.tenant, #l.charges, l.charges, #l.answer, l.answer, #l.draft, l.draft, #l.booked, l.booked)
end

-- A lease that is over: only what the answers to repeated calls need.
local function tombstone(state, answer)
  return state .. answer
end

local function load_buckets(holdings, now)
  if #holdings == 0 then return end
  local keys = {}
  for i = 1, #holdings do keys[i] = holdings[i].key end
  take_buckets(holdings, call('MGET', unpack(keys)), 0, now)
end

-- Takes so many more tokens, debt or not, or gives back, never beyond full.
local function adjust(bucket, more, now)
  if more == 0 then return end
  local deficit = deficit_at(bucket, bucket.limit, now)
  bucket.updated = max(now, bucket.updated)
  bucket.deficit = max(0, min(MAX_DEFICIT_UNITS, deficit + more * UNITS_PER_TOKEN))
  bucket.changed = true
end

-- What a holding comes to at so much output: never less than its reservation.
local function extended_amount(holding, output)
  local dimension = holding.dimension
  if output < 0 or dimension ~= 't' and dimension ~= 'o' then return holding.amount end
  return max(holding.amount, holding.input + output)
end

-- What a holding comes to at the true figures; input below 0: at nothing.
local function true_amount(holding, input, cached, output)
  local dimension = holding.dimension
  if input < 0 or dimension == 'c' then return 0 end
  if dimension == 'r' then return holding.amount end
  if dimension == 'o' then return output end
  local counted = holding.cached == 1 and input or input - cached
  return dimension == 'i' and counted or counted + output
end
