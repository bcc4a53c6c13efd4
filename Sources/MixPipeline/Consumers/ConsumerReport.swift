/// What a consumer's process tells its relay: one JSON object a line.
protocol ConsumerReport: Decodable, Sendable {
    /// Why it cannot go on and trying again cannot help (a full disk …), in words for operators; `nil` while it can.
    var finalFailure: String? { get }
}
