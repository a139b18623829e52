-- Tells the first two in the queue that they are, so that they watch the slot's key from now on.
-- Done by a holder some time after it has entered: when slots pass on quickly, nobody has to.
-- KEYS: the slot, its fence, its queue, its presence list.
-- include: call.lua
-- include: queue.lua

for _, waiter in ipairs(call('ZRANGE', KEYS[3], 0, 1)) do tell(waiter, 'near') end
return 1
