-- Totals and events: the loader puts this before scripts that book, after ends.lua; leases.lua says how they are kept.

-- The port promises 40 days and 14 months of totals, and 7 days of events.
local DAY_KEPT_MS, MONTH_KEPT_MS, EVENTS_KEPT_MS = '3888000000', '39744000000', '691200000'

-- A tenant's totals: day, five figures, month, five figures, and five of all time. The figures: requests, input, cached, output, reasoning.
local TOTALS = '<c10dddddc7dddddddddd'
local DAY, MONTH, ALL = 1, 7, 12
local NO_DAY = '0000-00-00'
local NO_TOTALS = pack_bytes(TOTALS, NO_DAY, 0, 0, 0, 0, 0, '0000-00', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
local FIGURES = '<ddddd'

local function add(totals, at, figures)
  for i = 1, 5 do totals[at + i] = totals[at + i] + figures[i] end
end

-- Adds to a period that is over.
local function add_before(period, kept_ms, tenant, figures)
  local key = base .. 'u:' .. period
  local sums = { unpack_bytes(FIGURES, call('HGET', key, tenant) or pack_bytes(FIGURES, 0, 0, 0, 0, 0)) }
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

-- Books an event once to each tenant that the lease was charged to, its own and its parent. `keep`: for a sink ('1'), until it has it.
-- The events of a root go a week after the last day that had one: each day begins it anew.
local function book(lease, holdings, event, figures, day, month, parent, keep, recent)
  local tenants, began = tenants_of(lease, parent, holdings), false
  local fields = {}
  for i, packed in ipairs(call('HMGET', base .. 'u', unpack(tenants))) do
    local tenant, totals = tenants[i], { unpack_bytes(TOTALS, packed or NO_TOTALS) }
    began = add_period(totals, DAY, day, DAY_KEPT_MS, tenant, figures) or began
    add_period(totals, MONTH, month, MONTH_KEPT_MS, tenant, figures)
    add(totals, ALL, figures)
    fields[2 * i - 1], fields[2 * i] = tenant, pack_bytes(TOTALS, unpack(totals, 1, 17))
  end
  call('HSET', base .. 'u', unpack(fields))
  call('XADD', base .. 'e', 'MAXLEN', '~', recent, '*', 'e', event)
  if began then call('PEXPIRE', base .. 'e', EVENTS_KEPT_MS) end
  if keep == '1' then call('XADD', base .. 'q', '*', 'e', event) end
end
