-- The queue of a slot. KEYS[3]: the waiters in order of arrival, by server time in microseconds.
-- KEYS[4]: until when each is taken for present; whoever does not show up by then loses the place,
-- and gets it back when it asks again with the time of its arrival. A waiter's name starts with 'm'
-- if it listens for messages on its channel, with 'p' if it polls.

-- include: time.lua

local function forget(waiter)
  call('ZREM', KEYS[3], waiter)
  call('ZREM', KEYS[4], waiter)
end

-- Sends a word to a waiter. Answers how many are at its channel, 0 if its connection is gone; nil if
-- it polls, or where there is no right to publish.
local function tell(waiter, word)
  if string.sub(waiter, 1, 1) == 'p' then return nil end
  local heard = redis.pcall('PUBLISH', KEYS[3] .. ':' .. waiter, word)
  return type(heard) == 'number' and heard or nil
end

-- The first waiter that is present, and until when; those before it are forgotten.
local function first_present(now)
  while true do
    local waiter = call('ZRANGE', KEYS[3], 0, 0)[1]
    if not waiter then return nil end
    local presence = tonumber(call('ZSCORE', KEYS[4], waiter) or 0)
    if presence >= now then return waiter, presence end
    forget(waiter)
  end
end

-- Wakes the first waiter but `me`, who is next then if none is left before it. A waiter that stays
-- silent for a second after this is not present any more. Answers who is first.
local function wake_first(now, me)
  while true do
    local waiter, presence = first_present(now)
    if not waiter or waiter == me then return waiter end
    local heard = tell(waiter, 'go')
    if heard ~= 0 then
      if heard and presence > now + 1000000 then
        call('ZADD', KEYS[4], exact(now + 1000000), waiter)
      end
      return waiter
    end
    forget(waiter)
  end
end
