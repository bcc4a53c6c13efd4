import EventSubscription
import Foundation

/// Processor time of the whole process. A test that runs in its own process measures only itself.
enum ProcessorTime {
    /// Returns the processor time used so far, in ms.
    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    /// Returns the processor time for reading a megabyte of JSON in this build on this machine, in ms: the median of
    /// five runs.
    static func reference() -> Double {
        let event = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice","sequence":17}"#
        let bytes = Array(
            ("[" + Array(repeating: event, count: (1 << 20) / (event.utf8.count + 1)).joined(separator: ",") + "]").utf8
        )
        var times: [Double] = []
        for _ in 0..<5 {
            let start = now()
            _ = try? JSONValue(parsing: bytes)
            times.append(now() - start)
        }
        return times.sorted()[2]
    }
}
