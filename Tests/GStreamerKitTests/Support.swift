import GStreamerKit
import Synchronization

/// Collects values from callbacks; shared with the test by reference.
final class Collector<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

extension Pipeline {
    /// Reads events until the end of the stream or an error.
    func finish() async -> BusEvent? {
        for await event in events {
            switch event {
            case .endOfStream, .error: return event
            case .warning: continue
            }
        }
        return nil
    }
}
