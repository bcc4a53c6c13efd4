/// A report from a consumer's process to its relay. One JSON object a line.
protocol ConsumerReport: Decodable, Sendable {
    /// Reason, for operators, why the process cannot continue and a restart does not help, such as a full disk; `nil`
    /// while it can continue.
    var finalFailure: String? { get }
}
