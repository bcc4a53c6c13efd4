/// Asks again and again until `condition` gives a value.
///
/// - Parameters:
///   - limit: Time after which nobody asks any more.
///   - step: Pause before the next question.
/// - Returns: The value; `nil` if none came in time.
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
