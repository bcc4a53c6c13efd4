import Foundation

/// The length of tests that have a short form, which `make test` runs, and a long one, which `make test-long` adds.
public enum TestLength {
    /// Whether `MIX_LONG` asks for the long forms.
    public static let isLong = ProcessInfo.processInfo.environment["MIX_LONG"] != nil

    /// Returns the value for the form that runs, for example a number of rounds.
    public static func of<Value>(short: Value, long: Value) -> Value { isLong ? long : short }
}
