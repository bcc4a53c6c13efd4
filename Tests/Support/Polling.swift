/// Polls until `condition` returns a value.
///
/// - Parameters:
///   - limit: Time after which polling stops.
///   - step: Pause between two attempts.
/// - Returns: The value; `nil` if there was none in time.
public func poll<Value>(
    within limit: Duration, every step: Duration, _ condition: () async throws -> Value?
) async throws -> Value? {
    let end = ContinuousClock.now + limit
    while true {
        if let value = try await condition() { return value }
        guard ContinuousClock.now < end else { return nil }
        try await Task.sleep(for: step)
    }
}
