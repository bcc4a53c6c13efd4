import Foundation

/// A SplitMix64 generator: the same seed gives the same numbers on every machine, so that a failed run can be repeated.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    public let seed: UInt64
    private var state: UInt64

    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Creates a generator with the seed in the environment's `MIX_TEST_SEED`, or else a new one, and prints the seed.
    public init(announcedFor test: String) {
        let given = ProcessInfo.processInfo.environment["MIX_TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: given ?? .random(in: 0 ... .max))
        print("\(test): MIX_TEST_SEED=\(seed) repeats this run")
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
