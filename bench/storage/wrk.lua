-- wrk's part of the bench: asks for one path, or in turn for those listed in a file; says exact totals at the end.
local paths = {}
local turn = 0

function init(arguments)
  if arguments[1] == nil then return end
  for line in io.lines(arguments[1]) do
    paths[#paths + 1] = wrk.format("GET", line)
  end
  request = function()
    turn = turn % #paths + 1
    return paths[turn]
  end
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status
  io.write(string.format('{"requests":%d,"bytes":%d,"failed":%d}\n', summary.requests, summary.bytes, failed))
end
