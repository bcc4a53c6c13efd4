/// A door through which bytes of strangers come in, as libFuzzer calls it: with any bytes, millions of times.
///
/// It must return whatever the bytes are. A trap, a failed `require`, a leak or a second without an answer is a finding.
protocol FuzzTarget {
    /// Name on the command line and of the corpus in `Fuzzing/Corpus`.
    static var name: String { get }
    /// Inputs from which the search begins, well formed, so that it gets past the first checks.
    static var seeds: [[UInt8]] { get }

    static func run(_ bytes: [UInt8])
}

extension FuzzTarget {
    static func require(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { fatalError("\(name): \(what())") }
    }
}

enum FuzzTargets {
    /// All targets. A new one is added here and nowhere else.
    static var all: [any FuzzTarget.Type] {
        [
            AMFTarget.self, BitstreamTarget.self, EventTarget.self, HookTarget.self, ImageTarget.self,
            LayoutTarget.self, PlaylistTarget.self,
            ProgramTarget.self, RTMPServerTarget.self, RTMPTarget.self, WorkerTarget.self,
        ]
    }
}
