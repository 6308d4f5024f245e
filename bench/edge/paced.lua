-- wrk's part of the half load: every connection rests so many milliseconds before each request; says the 95th
-- percentile of the time from a request to the end of its answer, and how many there were a second.
local rest = 0

function init(arguments)
  rest = tonumber(arguments[1])
end

function delay()
  return rest
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local rate = summary.requests * 1000000 / summary.duration
  io.write(string.format('{"ms":%.3f,"rate":%.0f,"failed":%d}\n', latency:percentile(95) / 1000, rate, failed))
end
