-- Totals and events: the loader puts this before scripts that book, after ends.lua; leases.lua says how they are kept.

-- The port promises 40 days and 14 months of totals, and 7 days of events. All else of a root goes as its last month does.
local DAY_KEPT_MS, MONTH_KEPT_MS, EVENTS_KEPT_MS = '3888000000', '39744000000', '691200000'

-- A tenant's totals: day, five figures, month, five figures, and five of all time. The figures: requests, input, cached, output, reasoning.
local TOTALS = '<c10dddddc7dddddddddd'
local DAY, MONTH, ALL = 1, 7, 12
local NO_DAY = '0000-00-00'
local NO_TOTALS = pack_bytes(TOTALS, NO_DAY, 0, 0, 0, 0, 0, '0000-00', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
local FIGURES = '<ddddd'

-- Tenants of one root of which totals are kept: clients may make up any number below one parent.
local MAX_TENANTS, LOOKED_AT = 10000, 8

-- Makes room for one more in a hash of totals: of some, whichever, that of the fewest requests goes, of those that were not used today if there are
-- any. `at`: where its requests are; `day`: of today's, nil where no day is kept.
local function make_room(key, form, at, day)
  if call('HLEN', key) < MAX_TENANTS then return end
  local some, least, fewest = call('HRANDFIELD', key, LOOKED_AT, 'WITHVALUES'), nil, nil
  for i = 1, #some, 2 do
    local totals = { unpack_bytes(form, some[i + 1]) }
    local requests = totals[at] + ((day and totals[DAY] == day) and 1e15 or 0)
    if not fewest or requests < fewest then least, fewest = some[i], requests end
  end
  if least then call('HDEL', key, least) end
end

local function add(totals, at, figures)
  for i = 1, 5 do totals[at + i] = totals[at + i] + figures[i] end
end

-- Adds to a period that is over.
local function add_before(period, kept_ms, tenant, figures)
  local key = base .. 'u:' .. period
  local packed = call('HGET', key, tenant)
  if not packed then make_room(key, FIGURES, 1, nil) end
  local sums = { unpack_bytes(FIGURES, packed or pack_bytes(FIGURES, 0, 0, 0, 0, 0)) }
  add(sums, 0, figures)
  call('HSET', key, tenant, pack_bytes(FIGURES, unpack(sums, 1, 5)))
  call('PEXPIRE', key, kept_ms, 'NX')
end

-- Adds to the period that totals have at `at`. A later one takes its place, and what was there goes to the periods before; an earlier one goes
-- there itself. Returns whether a new period began.
local function add_period(totals, at, period, kept_ms, tenant, figures)
  local current = totals[at]
  if period < current then
    add_before(period, kept_ms, tenant, figures)
    return false
  end
  if period ~= current then
    if current > NO_DAY then add_before(current, kept_ms, tenant, { unpack(totals, at + 1, at + 5) }) end
    totals[at] = period
    for i = 1, 5 do totals[at + i] = 0 end
  end
  add(totals, at, figures)
  return period ~= current
end

-- Each tenant once.
local function tenants_of(lease, parent, holdings)
  local tenants, seen = { lease.tenant }, { [lease.tenant] = true, [''] = true }
  for i = 0, #holdings do
    local tenant = i == 0 and parent or holdings[i].tenant
    if not seen[tenant] then
      seen[tenant] = true
      tenants[#tenants + 1] = tenant
    end
  end
  return tenants
end

-- Events that waited for a sink and gave way: it stayed away for too long.
local lost = 0

-- Books an event once to each tenant that the lease was charged to, its own and its parent. `keep`: so many wait for a sink at most, about, until it has them ('0': there is none).
-- The events of a root go a week after the last day that had one: each day begins it anew.
local function book(lease, holdings, event, figures, day, month, parent, keep, recent)
  local tenants, began = tenants_of(lease, parent, holdings), false
  local fields = {}
  for i, packed in ipairs(call('HMGET', base .. 'u', unpack(tenants))) do
    if not packed then make_room(base .. 'u', TOTALS, ALL + 1, day) end
    local tenant, totals = tenants[i], { unpack_bytes(TOTALS, packed or NO_TOTALS) }
    began = add_period(totals, DAY, day, DAY_KEPT_MS, tenant, figures) or began
    add_period(totals, MONTH, month, MONTH_KEPT_MS, tenant, figures)
    add(totals, ALL, figures)
    fields[2 * i - 1], fields[2 * i] = tenant, pack_bytes(TOTALS, unpack(totals, 1, 17))
  end
  call('HSET', base .. 'u', unpack(fields))
  call('XADD', base .. 'e', 'MAXLEN', '~', recent, '*', 'e', event)
  if began then
    call('PEXPIRE', base .. 'u', MONTH_KEPT_MS)
    call('PEXPIRE', base .. 'e', EVENTS_KEPT_MS)
  else
    call('PEXPIRE', base .. 'e', EVENTS_KEPT_MS, 'NX')
  end
  if keep == '0' then return end
  call('XADD', base .. 'q', '*', 'e', event)
  lost = lost + call('XTRIM', base .. 'q', 'MAXLEN', '~', keep)
end
