-- accept.lua - a script for wrk: POST a short message, each under a key of its
-- own, BLOCK of them for one account, then as many for the next.
--
--   wrk ... -s accept.lua URL -- RUN ACCOUNTS FIRST BLOCK FROM
--
-- RUN makes the keys of one run of wrk unlike those of any other. Account i is
-- "u-i" and owns the conversation with the number FIRST + i; FROM is the first
-- that is used, ACCOUNTS how many there are. What the server is does not matter
-- here: each gets the same requests.

local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("id", threads)
end

function init(args)
    run = args[1]
    accounts = tonumber(args[2])
    first = tonumber(args[3])
    block = tonumber(args[4])
    from = tonumber(args[5])
    count = 0
    body = '{"body":"What does a checkpoint do with the pages of the log, ' ..
        'and when is it run?"}'
end

function request()
    local at = (from + math.floor(count / block)) % accounts
    count = count + 1
    return wrk.format("POST",
        "/api/v1/conversations/conv_" .. (first + at) .. "/messages", {
            ["Content-Type"] = "application/json",
            ["Idempotency-Key"] = run .. "-" .. id .. "-" .. count,
            ["X-Bench-User"] = "u-" .. at,
        }, body)
end

function done(summary, latency)
    io.write(string.format(
        '\nRESULT {"requests":%d,"us":%d,"status":%d,"socket":%d,' ..
        '"p50_us":%d,"p99_us":%d}\n',
        summary.requests, summary.duration, summary.errors.status,
        summary.errors.connect + summary.errors.read + summary.errors.write +
        summary.errors.timeout, latency:percentile(50),
        latency:percentile(99)))
end
